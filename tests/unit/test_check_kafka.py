"""The rules of `check` for Kafka, and how findings are shown: facts in, findings and lines out."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from typing import Any

import pytest

from cdc_relay.admin.check.finding import Finding, Level, fail, in_order, ok, warn
from cdc_relay.admin.check.kafka import judge_payloads
from cdc_relay.admin.check.kafka_commands import Commands
from cdc_relay.admin.check.kafka_facts import Cluster, Partition, State, TopicState
from cdc_relay.admin.check.payload_facts import Largest
from cdc_relay.admin.check.text import document, lines
from cdc_relay.admin.check.topic_rules import judge_topic
from cdc_relay.admin.topics_plan import Absence
from cdc_relay.sources.remedy import shell, sql, words

COMMANDS = Commands.of({"bootstrap.servers": "kafka:9092"})
PARTITION = Partition(0, leader=1, replicas=(1, 2, 3), in_sync=(1, 2, 3))
TOPIC = TopicState((PARTITION,), True, {"min.insync.replicas": "2", "max.message.bytes": "1048588"})


def judge(state: State, *, brokers: tuple[int, ...] = (1, 2, 3), **options: Any) -> list[Finding]:
    cluster = Cluster(brokers, options.pop("creates_topics", False), {"orders": state})
    asked: dict[str, Any] = {"named_by": "a route", "batch_bytes": 1_000_000, "commands": COMMANDS, **options}
    return list(judge_topic("orders", cluster, **asked))


def bad(findings: list[Finding]) -> dict[str, Level]:
    return {finding.name: finding.level for finding in findings if finding.level is not Level.OK}


def with_partition(**changes: Any) -> TopicState:
    return replace(TOPIC, partitions=(replace(PARTITION, **changes),))


def with_property(name: str, value: str) -> TopicState:
    return replace(TOPIC, properties={**(TOPIC.properties or {}), name: value})


@pytest.mark.parametrize("state", [TOPIC, replace(TOPIC, may_write=None), replace(TOPIC, properties=None)])
def test_a_good_topic_and_one_that_does_not_tell_are_ok(state: TopicState) -> None:
    assert bad(judge(state)) == {}


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (Absence.MISSING, {"kafka.topic": Level.FAIL}),
        (Absence.HIDDEN, {"kafka.topic.rights": Level.FAIL}),
        (replace(TOPIC, may_write=False), {"kafka.topic.rights": Level.FAIL}),
        (with_property("min.insync.replicas", "1"), {"kafka.topic.min_isr": Level.WARN}),
        (with_property("min.insync.replicas", "4"), {"kafka.topic.min_isr": Level.FAIL}),
        (with_partition(in_sync=(1,)), {"kafka.topic.in_sync": Level.FAIL}),
        (with_partition(in_sync=(1, 2)), {}),
        (with_partition(leader=None), {"kafka.topic.in_sync": Level.FAIL}),
        (with_property("max.message.bytes", "999999"), {"kafka.topic.batch_size": Level.WARN}),
    ],
)
def test_each_fault_of_a_topic_is_one_finding_with_a_fix(state: State, expected: dict[str, Level]) -> None:
    found = judge(state)
    assert bad(found) == expected
    assert all(finding.steps for finding in found if finding.level is not Level.OK)


def test_a_lonely_replica_is_only_a_matter_where_there_are_more_brokers() -> None:
    lonely = replace(with_partition(replicas=(1,), in_sync=(1,)), properties={"min.insync.replicas": "1"})
    assert bad(judge(lonely, brokers=(1,))) == {}
    [found] = [finding for finding in judge(lonely) if finding.level is not Level.OK]
    assert (found.name, found.level) == ("kafka.topic.replicas", Level.WARN)
    echo, plan, *_ = shlex.split(found.steps[0].text)
    assert echo == "echo"
    assert json.loads(plan) == {
        "version": 1,
        "partitions": [{"topic": "orders", "partition": 0, "replicas": [1, 2, 3]}],
    }
    assert found.steps[1].text.startswith("kafka-reassign-partitions.sh --bootstrap-server kafka:9092 ")


def test_a_missing_topic_is_made_by_us_where_the_file_describes_it() -> None:
    [managed] = judge(Absence.MISSING, named_by="")
    assert managed.steps[0].text == "cdc-relay topics apply -c FILE --yes"
    [named] = judge(Absence.MISSING, brokers=(1, 2))
    assert named.steps[0].text == (
        "kafka-topics.sh --bootstrap-server kafka:9092 --create --topic orders --partitions 3 --replication-factor 2"
    )
    assert bad(judge(Absence.MISSING, creates_topics=True)) == {"kafka.topic": Level.WARN}


def test_an_acl_names_the_principal_as_far_as_it_is_known() -> None:
    known = Commands.of({"bootstrap.servers": "a:1,b:2", "sasl.username": "it's", "security.protocol": "SASL_SSL"})
    line, login = known.allow("orders")
    assert line.text == (
        "kafka-acls.sh --bootstrap-server a:1,b:2 --add --allow-principal 'User:it'\"'\"'s'"
        " --operation Write --operation Describe --topic orders"
    )
    assert "--command-config" in login.text
    [line] = COMMANDS.allow("orders")
    assert "--allow-principal User:PRINCIPAL " in line.text


def test_payloads_are_measured_against_producer_and_topics() -> None:
    cluster = Cluster((1,), False, {"orders": with_property("max.message.bytes", "5000")})
    sizes = [Largest("a", 100), Largest("b", 4_000), Largest("c", 2_000_000), Largest("d", None, "no right")]
    found = list(judge_payloads(sizes, cluster, {"bootstrap.servers": "kafka:9092"}))
    assert [finding.level for finding in found] == [Level.OK, Level.WARN, Level.WARN, Level.OK]
    assert [step.way.value for step in found[1].steps] == ["words", "shell"]
    assert [step.way.value for step in found[2].steps] == ["yaml", "words", "shell"]


# --- shown


FOUND = [
    ok("postgres.wal_level", "logical"),
    warn("lot.dead", "2 records", shell("cdc-relay dlq list -c FILE"), words("then decide")),
    fail("kafka.topic", "\x1b[31mred", sql("SELECT 1"), sql("BEGIN; COMMIT;")),
]


def test_findings_are_lines_with_stake_and_fix_and_a_summary() -> None:
    assert list(lines(FOUND, config="'my file.yaml'")) == [
        "ok    postgres.wal_level  logical",
        "warn  lot.dead            2 records",
        "      at stake: their events reach no consumer until somebody decides",
        "      fix: cdc-relay dlq list -c 'my file.yaml'",
        "           (then decide)",
        "fail  kafka.topic         \\x1b[31mred",
        "      at stake: its records wait in the lot until the topic is there",
        "      fix: SELECT 1;",
        "           BEGIN; COMMIT;",
        "1 ok, 1 to be warned of, 1 failed: do not start the relay like this",
    ]


def test_the_document_has_the_same_for_programs() -> None:
    shown = document(FOUND, config="relay.yaml")
    assert shown["summary"] == {"ok": 1, "warn": 1, "fail": 1}
    assert json.loads(json.dumps(shown))["findings"][1] == {
        "level": "warn",
        "name": "lot.dead",
        "found": "2 records",
        "stake": "their events reach no consumer until somebody decides",
        "fix": [
            {"way": "shell", "text": "cdc-relay dlq list -c relay.yaml"},
            {"way": "words", "text": "then decide"},
        ],
    }


def test_findings_come_in_the_order_of_the_document() -> None:
    assert in_order([FOUND[2], FOUND[0], FOUND[1]]) == FOUND
