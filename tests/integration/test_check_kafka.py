"""`cdc-relay check` and Kafka: each fault is planted on real brokers, named, and gone after its printed fix."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.database import Database
from tests.fixtures.fix_kafka import KafkaBroker, MakeCluster
from tests.fixtures.kafka_jars import find_jars
from tests.fixtures.outbox import create_outbox
from tests.fixtures.process import wait_until
from tests.fixtures.relay_process import relay_config
from tests.fixtures.scratch import free_port
from tests.integration.check_rig import Check

pytestmark = [pytest.mark.kafka, pytest.mark.real_kafka]

USER = "relay"


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaBroker]:
    """One that creates nothing by itself; with ACLs for who has credentials."""
    jars = find_jars()
    assert isinstance(jars, Path)  # the mark real_kafka has seen to it
    kafka = KafkaBroker(jars, {"auto.create.topics.enable": False}, users=[USER], heap="512m")
    try:
        kafka.start()
        yield kafka
    finally:
        kafka.destroy()


class Rig:
    """A check of Kafka alone: nothing is set up in Postgres, and nobody asks."""

    def __init__(self, database: Database, directory: Path) -> None:
        with database.connect() as conn:
            create_outbox(conn)
        self._database, self._directory = database, directory
        self.role = database.create_role("LOGIN REPLICATION")

    def check(self, kafka: dict[str, str], *topics: str, **sections: Any) -> Check:
        config = relay_config(self._database.dsn(self.role), "s", "p", "public.outbox", "", **sections)
        config["sink"] = {"kafka": dict(kafka)}
        config["outboxes"][0] |= (
            {"routes": [{"when": {"type": topic}, "topic": topic} for topic in topics]} if topics else {}
        )
        return Check(config, self._directory, self._database.server)


@pytest.fixture
def rig(database: Database, tmp_path: Path) -> Rig:
    return Rig(database, tmp_path)


def plain(broker: Any) -> dict[str, str]:
    return {"bootstrap.servers": broker.bootstrap}


def test_a_cluster_that_is_away_is_one_failure_and_postgres_is_looked_at(rig: Rig) -> None:
    check = rig.check({"bootstrap.servers": f"127.0.0.1:{free_port()}"})
    assert "Connection refused" in check.bad("kafka.reachable", "fail")["found"]
    assert check.is_fine("postgres.reachable")


def test_a_property_that_librdkafka_refuses_is_one_failure_and_postgres_is_looked_at(rig: Rig) -> None:
    check = rig.check({"bootstrap.servers": "127.0.0.1:1", "batch.size": "big"})
    finding = check.bad("kafka.reachable", "fail")
    assert "batch.size" in finding["found"]
    assert check.is_fine("postgres.reachable")


def test_a_wrong_password_is_said_as_such_and_not_shown(rig: Rig, broker: KafkaBroker) -> None:
    check = rig.check(broker.credentials(USER) | {"sasl.password": "guessed-4711"})
    assert "Authentication failed" in check.bad("kafka.authentication", "fail")["found"]
    done = check.run()
    assert "guessed-4711" not in done.stdout + done.stderr
    check.config["sink"]["kafka"] = broker.credentials(USER)
    assert check.is_fine("kafka.authentication")
    assert check.is_fine("kafka.reachable")


def test_a_missing_topic_that_the_file_describes_is_made_by_the_printed_command(
    rig: Rig, broker: KafkaBroker, topic_prefix: str
) -> None:
    topics = {topic_prefix: {"partitions": 2, "replication_factor": 1}}
    check = rig.check(plain(broker), topic_prefix, topics=topics)
    check.repair("kafka.topic", "fail")


def test_missing_topics_that_a_route_or_the_lot_names_are_said_with_the_line_that_makes_them(
    rig: Rig, broker: KafkaBroker, topic_prefix: str
) -> None:
    dead_letters = f"{topic_prefix}.dead"
    check = rig.check(plain(broker), topic_prefix, parking={"dead_letter_topic": dead_letters})
    missing = check.of("kafka.topic")
    assert [each["level"] for each in missing] == ["fail", "fail"]
    assert "named by a route" in missing[0]["found"]
    assert "named by parking.dead_letter_topic" in missing[1]["found"]
    for finding in missing:
        check.apply(finding)
    wait_until(lambda: check.is_fine("kafka.topic"), timeout=60, what="the topics are there")
    assert {topic_prefix, dead_letters} <= broker.topics()


def test_a_check_makes_no_broker_create_a_topic_and_warns_only_where_it_would(
    rig: Rig, kafka: KafkaBroker, topic_prefix: str
) -> None:
    check = rig.check(plain(kafka), topic_prefix)
    assert "with their defaults" in check.bad("kafka.topic", "warn")["found"]
    assert topic_prefix not in kafka.topics()


def test_topics_that_rows_decide_are_said_not_to_be_looked_at(rig: Rig, broker: KafkaBroker) -> None:
    [found] = rig.check(plain(broker)).of("kafka.topics_by_row")
    assert (found["level"], found["found"]) == ("ok", "not looked at: outbox.event.{aggregatetype}")


@pytest.mark.parametrize("has_describe", [False, True])
def test_rights_that_are_missing_are_given_by_the_printed_line(
    rig: Rig, broker: KafkaBroker, topic_prefix: str, has_describe: bool
) -> None:
    broker.create_topic(topic_prefix)
    if has_describe:
        broker.grant(USER, "describe", topic_prefix)
    check = rig.check(broker.credentials(USER), topic_prefix)
    finding = check.bad("kafka.topic.rights", "fail")
    assert f"--allow-principal User:{USER} " in finding["fix"][0]["text"]
    # an administrator reaches the brokers by another listener
    secured, direct = check.config["sink"]["kafka"]["bootstrap.servers"], broker.bootstrap
    finding["fix"][0]["text"] = finding["fix"][0]["text"].replace(secured, direct)
    check.apply(finding)
    wait_until(lambda: check.is_fine("kafka.topic.rights"), timeout=60, what="the right is there")
    assert check.is_fine("kafka.topic")


def test_a_topic_that_takes_smaller_batches_than_we_make_is_warned_of(
    rig: Rig, broker: KafkaBroker, topic_prefix: str
) -> None:
    broker.create_topic(topic_prefix, config={"max.message.bytes": "20000"})
    check = rig.check(plain(broker), topic_prefix)
    finding = check.bad("kafka.topic.batch_size", "warn")
    ways = {step["way"]: step for step in finding["fix"]}
    check.apply({"fix": [ways["yaml"]]})
    assert check.is_fine("kafka.topic.batch_size")
    del check.config["sink"]["kafka"]["batch.size"]
    check.apply({"fix": [ways["shell"]]})
    wait_until(lambda: check.is_fine("kafka.topic.batch_size"), timeout=60, what="the topic takes them")


def test_payloads_too_large_for_producer_and_topic_are_warned_of(
    rig: Rig, broker: KafkaBroker, database: Database, topic_prefix: str
) -> None:
    broker.create_topic(topic_prefix)
    check = rig.check(plain(broker), topic_prefix)
    database.execute(f"GRANT SELECT ON outbox TO {rig.role}")
    assert check.is_fine("kafka.payload_size")
    database.execute("INSERT INTO outbox SELECT gen_random_uuid(), 'order', 'k', 't', to_jsonb(repeat('x', 2000000))")
    finding = check.repair("kafka.payload_size", "warn")
    assert "message.max.bytes of the producer" in finding["found"]
    assert f"max.message.bytes of {topic_prefix}" in finding["found"]


def test_payloads_that_may_not_be_read_are_said_to_be_unknown(rig: Rig, broker: KafkaBroker) -> None:
    [found] = rig.check(plain(broker)).of("kafka.payload_size")
    assert found["level"] == "ok"
    assert "not known (permission denied" in found["found"]


def test_more_min_isr_than_replicas_fails(rig: Rig, broker: KafkaBroker, topic_prefix: str) -> None:
    broker.create_topic(topic_prefix, config={"min.insync.replicas": "2"})
    check = rig.check(plain(broker), topic_prefix)
    assert "min.insync.replicas is 2, and it has 1 replica" in check.repair("kafka.topic.min_isr", "fail")["found"]


def test_replicas_and_min_isr_on_three_brokers(rig: Rig, make_cluster: MakeCluster, topic_prefix: str) -> None:
    cluster = make_cluster()
    lonely, weak = f"{topic_prefix}.lonely", f"{topic_prefix}.weak"
    cluster.create_replicated_topic(lonely, [1])
    cluster.create_replicated_topic(weak, [1, 2], {"min.insync.replicas": "1"})
    check = rig.check(plain(cluster.first), lonely, weak)
    assert "one replica, and there are 3 brokers" in check.bad("kafka.topic.replicas", "warn")["found"]
    assert "min.insync.replicas is 1, and it has 2 replicas" in check.repair("kafka.topic.min_isr", "warn")["found"]
    cluster.nodes[2].kill()
    wait_until(lambda: not check.is_fine("kafka.topic.in_sync"), timeout=90, what="broker 2 is missed")
    [step] = check.bad("kafka.topic.in_sync", "fail")["fix"]
    assert step["text"].startswith("start broker 2 again")
    cluster.nodes[2].start()
    wait_until(lambda: check.is_fine("kafka.topic.in_sync"), timeout=90, what="broker 2 is back")
