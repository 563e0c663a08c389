"""`cdc-relay topics plan` and `apply` on real brokers: what they make, what they leave, what they say when refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from cdc_relay.admin import topics_kafka
from cdc_relay.admin.topics_plan import CreateTopic
from cdc_relay.config import TopicSettings
from tests.fixtures.fix_kafka import KafkaBroker, MakeCluster, MakeKafka
from tests.fixtures.kafka_jars import find_jars
from tests.fixtures.process import wait_until
from tests.fixtures.scratch import free_port
from tests.integration.topics_rig import Seen, Topics

pytestmark = [pytest.mark.kafka, pytest.mark.real_kafka]

USER = "admin"
EXAMPLE = Path(__file__).parents[2] / "config" / "multi-tenant.yaml"


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaBroker]:
    """One broker that would make a topic for anybody who only asks for it; with ACLs for who has credentials."""
    jars = find_jars()
    assert isinstance(jars, Path)  # the mark real_kafka has seen to it
    kafka = KafkaBroker(jars, {"auto.create.topics.enable": True}, users=[USER], heap="512m")
    try:
        kafka.start()
        yield kafka
    finally:
        kafka.destroy()


@pytest.fixture
def topics(broker: KafkaBroker, tmp_path: Path) -> Topics:
    return Topics(tmp_path, {"bootstrap.servers": broker.bootstrap})


def test_missing_topics_are_created_as_the_file_says_and_the_second_time_nothing_is_done(
    broker: KafkaBroker, topics: Topics, topic_prefix: str
) -> None:
    one, other = f"{topic_prefix}.one", f"{topic_prefix}.other"
    wanted = {one: {"partitions": 3, "retention": "7d", "compression": "lz4"}, other: {}}
    topics.want(topic_defaults={"partitions": 2, "replication_factor": 1}, topics=wanted)
    assert topics.plan().returncode == 3
    done = topics.apply()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(f"{one}: created\n{other}: created\n")
    topics.settle()
    again = topics.apply()
    assert (again.returncode, again.stdout.splitlines()[-1]) == (0, "nothing to do")
    seen = Seen(broker.bootstrap, one)
    assert (seen.partitions, seen.replicas) == (3, {1})
    assert (seen.properties["retention.ms"], seen.properties["compression.type"]) == ("604800000", "lz4")
    assert Seen(broker.bootstrap, other).partitions == 2


def test_a_plan_changes_nothing_and_makes_no_broker_create_a_topic(
    broker: KafkaBroker, topics: Topics, topic_prefix: str
) -> None:
    old, new, routed = f"{topic_prefix}.old", f"{topic_prefix}.new", f"{topic_prefix}.routed"
    broker.create_topic(old)
    before = Seen(broker.bootstrap, old)
    topics.want(
        topics={old: {"partitions": 5, "retention": "1h"}, new: {"partitions": 1}},
        outboxes=[{"table": "outbox", "routes": [{"topic": routed}]}],
    )
    plan = topics.plan()
    assert plan.returncode == 3
    assert f"{routed}: not managed here (a route names it, topics: does not): does not exist" in plan.stdout
    assert {new, routed} & broker.topics() == set()
    after = Seen(broker.bootstrap, old)
    assert (after.partitions, after.properties) == (before.partitions, before.properties)


def test_properties_that_differ_are_set_and_no_other_is_touched(
    broker: KafkaBroker, topics: Topics, topic_prefix: str
) -> None:
    broker.create_topic(topic_prefix, config={"segment.ms": "7777777", "retention.ms": "1000000"})
    wanted = {
        "retention": "30d",
        "properties": {"cleanup.policy": "compact, delete", "min.cleanable.dirty.ratio": 0.50},
    }
    topics.want(topics={topic_prefix: wanted})
    done = topics.apply()
    assert (done.returncode, done.stderr) == (0, "")
    assert "retention.ms: 1000000 (1000s) -> 2592000000 (30d): done" in done.stdout
    topics.settle()  # however the broker prints them
    properties = Seen(broker.bootstrap, topic_prefix).properties
    assert (properties["retention.ms"], properties["segment.ms"]) == ("2592000000", "7777777")
    assert properties["cleanup.policy"] == "compact,delete"


def test_partitions_are_added_and_the_consequence_is_said(
    broker: KafkaBroker, topics: Topics, topic_prefix: str
) -> None:
    broker.create_topic(topic_prefix, partitions=2)
    topics.want(topics={topic_prefix: {"partitions": 6}})
    done = topics.apply()
    assert (done.returncode, done.stderr) == (0, "")
    assert "partitions: 2 -> 6\n    most keys go to another partition" in done.stdout
    topics.settle()
    assert Seen(broker.bootstrap, topic_prefix).partitions == 6


def test_what_cannot_be_changed_in_place_is_said_and_not_attempted(
    broker: KafkaBroker, topics: Topics, topic_prefix: str
) -> None:
    broker.create_topic(topic_prefix, partitions=4)
    wanted = {"partitions": 2, "replication_factor": 3, "min_insync_replicas": 2}
    topics.want(topics={topic_prefix: wanted})
    done = topics.apply()
    assert done.returncode == 3
    for said in ("it has 4, and 2 are wanted", "it has 1, and 3 is wanted", "min.insync.replicas: stays 1"):
        assert said in done.stdout
    assert done.stdout.endswith("nothing to do\n")
    seen = Seen(broker.bootstrap, topic_prefix)
    assert (seen.partitions, seen.replicas, seen.properties["min.insync.replicas"]) == (4, {1}, "1")


def test_a_topic_that_the_brokers_refuse_is_explained_and_the_others_are_done(
    broker: KafkaBroker, topics: Topics, topic_prefix: str
) -> None:
    wide, odd, good = f"{topic_prefix}.wide", f"{topic_prefix}.odd", f"{topic_prefix}.good"
    wanted = {
        wide: {"replication_factor": 3},
        odd: {"properties": {"no.such.property": 1}},
        good: {"partitions": 1, "replication_factor": 1},
    }
    topics.want(topics=wanted)
    planned = {topic["topic"]: topic["would_fail"] for topic in topics.document()["topics"]}
    assert [bool(planned[topic]) for topic in (wide, odd, good)] == [True, True, False]
    done = topics.apply()
    assert done.returncode == 3
    assert f"{wide}: create: refused:" in done.stderr
    assert "(INVALID_REPLICATION_FACTOR)\n  what to do: lower replication_factor" in done.stderr
    assert "(INVALID_CONFIG)\n  what to do: correct the property" in done.stderr
    assert f"{good}: created" in done.stdout
    wait_until(lambda: good in broker.topics(), timeout=30, what="the good one is there")
    assert {wide, odd} & broker.topics() == set()


def test_without_any_right_nothing_is_seen_and_nothing_is_done(
    broker: KafkaBroker, tmp_path: Path, topic_prefix: str
) -> None:
    topics = Topics(tmp_path, broker.credentials(USER), topics={topic_prefix: {"partitions": 1}})
    [planned] = topics.document()["topics"]
    assert (planned["exists"], planned["steps"]) == (None, [])
    done = topics.apply()
    assert done.returncode == 3
    assert f"what to do: grant Describe and DescribeConfigs on topic {topic_prefix}" in done.stdout
    assert topic_prefix not in broker.topics()


def test_each_missing_right_is_named_and_the_rights_of_the_document_are_enough(
    broker: KafkaBroker, tmp_path: Path, topic_prefix: str
) -> None:
    new, old = f"{topic_prefix}.new", f"{topic_prefix}.old"
    broker.create_topic(old)
    for topic in (new, old):
        broker.grant(USER, "describe", topic)
        broker.grant(USER, "describe_configs", topic)
    wanted = {new: {"partitions": 1}, old: {"partitions": 2, "retention": "1h"}}
    topics = Topics(tmp_path, broker.credentials(USER), topics=wanted)
    refused = topics.apply()
    assert refused.returncode == 3
    for right in (f"Create on topic {new}", f"Alter on topic {old}", f"AlterConfigs on topic {old}"):
        assert f"what to do: grant the principal of sink.kafka {right}" in refused.stderr
    for operation, topic in (("create", new), ("alter", old), ("alter_configs", old)):
        broker.grant(USER, operation, topic)
    for topic in (new, old):
        broker.revoke(USER, "describe_configs", topic)  # AlterConfigs includes it
    done = topics.apply()
    assert (done.returncode, done.stderr) == (0, "")
    topics.settle()


def test_properties_that_may_not_be_read_are_said(broker: KafkaBroker, tmp_path: Path, topic_prefix: str) -> None:
    broker.create_topic(topic_prefix)
    broker.grant(USER, "describe", topic_prefix)
    topics = Topics(tmp_path, broker.credentials(USER), topics={topic_prefix: {"retention": "1h"}})
    plan = topics.plan()
    assert plan.returncode == 3
    assert f"what to do: grant DescribeConfigs on topic {topic_prefix}" in plan.stdout


def test_a_wrong_password_is_one_clear_message(broker: KafkaBroker, tmp_path: Path) -> None:
    wrong = broker.credentials(USER) | {"sasl.password": "guessed"}
    done = Topics(tmp_path, wrong, topics={"a": {}}).apply()
    assert (done.returncode, done.stdout) == (3, "")
    assert "Kafka refuses to let us in" in done.stderr
    assert "what to do: check the security settings under sink.kafka" in done.stderr
    assert "guessed" not in done.stderr


def test_a_cluster_that_is_away_is_one_clear_message(tmp_path: Path) -> None:
    nobody = {"bootstrap.servers": f"127.0.0.1:{free_port()}"}
    done = Topics(tmp_path, nobody, topics={"a": {}}).plan()
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("cdc-relay: Kafka does not answer: ")
    assert "what to do: check sink.kafka bootstrap.servers" in done.stderr


def test_a_cluster_that_goes_away_between_plan_and_change_is_told_as_unanswered(
    make_kafka: MakeKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topics_kafka, "_CHANGE_SECONDS", 2.0)
    broker = make_kafka(heap="512m")
    cluster = topics_kafka.KafkaTopics({"bootstrap.servers": broker.bootstrap})
    cluster.read(["a"])
    broker.freeze()
    [refusal] = cluster.carry_out([CreateTopic("a", TopicSettings(1, 1, {}))])
    broker.thaw()
    assert refusal is not None
    assert "run plan again" in refusal.remedy


def test_the_multi_tenant_example_makes_its_topology_on_three_brokers(
    make_cluster: MakeCluster, tmp_path: Path
) -> None:
    cluster = make_cluster()
    example = yaml.safe_load(EXAMPLE.read_text())
    topics = Topics(tmp_path, {"bootstrap.servers": cluster.bootstrap})
    topics.want(**{key: value for key, value in example.items() if key not in ("source", "sink")})
    done = topics.apply()
    assert (done.returncode, done.stderr) == (0, "")
    topics.settle()
    days = {"core.commands.v1": 7, "core.events.v1": 30, "sys.deadletter.v1": 30, "sys.audit.v1": 90}
    for name, retention_days in days.items():
        seen = Seen(cluster.bootstrap, name)
        assert (seen.partitions, seen.replicas) == (12, {3})
        assert seen.properties["retention.ms"] == str(retention_days * 86_400_000)
        assert (seen.properties["min.insync.replicas"], seen.properties["compression.type"]) == ("2", "lz4")
    assert topics.apply().stdout.splitlines()[-1] == "nothing to do"
