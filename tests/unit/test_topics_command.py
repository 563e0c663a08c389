"""`cdc-relay topics plan` and `apply` as an operator sees them, on a cluster in memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cdc_relay.admin import topics_kafka
from cdc_relay.admin.topics_plan import Absence
from cdc_relay.cli import output
from cdc_relay.cli.topics import topics_group
from cdc_relay.errors import AwayError, ConfigError
from tests.unit.topics_rig import FakeCluster, there

_FILE = """\
source: {dsn: postgresql://relay@db/orders, slot: s, publication: p}
sink: {kafka: {bootstrap.servers: '127.0.0.1:1'}}
outboxes: [{table: outbox, routes: [{topic: orders.v1}]}]
topic_defaults: {partitions: 3, replication_factor: 1}
topics:
  core.commands.v1: {retention: 7d}
  core.events.v1: {retention: 30d, properties: {max.message.bytes: 2097152}}
"""
_Command = Callable[..., Result]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "relay.yaml"
    path.write_text(_FILE)
    return path


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    fake = FakeCluster({"core.events.v1": there(1, 1, retention_ms=604_800_000, max_message_bytes=2_097_152)})
    monkeypatch.setattr(topics_kafka, "KafkaTopics", lambda properties: fake)
    return fake


@pytest.fixture
def run(file: Path) -> _Command:
    def invoke(*arguments: str, stdin: str | None = None) -> Result:
        return CliRunner().invoke(topics_group, [*arguments, "-c", str(file)], input=stdin)

    return invoke


def test_a_plan_shows_each_difference_with_its_consequence(cluster: FakeCluster, run: _Command) -> None:
    result = run("plan")
    assert result.exit_code == 3
    assert result.stdout == (
        "core.commands.v1: to be created\n"
        "  partitions: 3\n"
        "  replication_factor: 1\n"
        "  retention.ms: 604800000 (7d)\n"
        "core.events.v1: to be changed\n"
        "  partitions: 1 -> 3\n"
        "    most keys go to another partition from then on: consumers may see later records of a key before earlier"
        " ones, unless they have read to the end first\n"
        "  retention.ms: 604800000 (7d) -> 2592000000 (30d)\n"
        "orders.v1: not managed here (a route names it, topics: does not): does not exist\n"
    )
    assert list(cluster.topics) == ["core.events.v1"]


def test_a_plan_says_what_would_fail_and_what_cannot_be_changed(cluster: FakeCluster, run: _Command) -> None:
    cluster.refuses = ["core.commands.v1"]
    cluster.topics["core.events.v1"] = there(6, 1, retention_ms=2_592_000_000, max_message_bytes=2_097_152)
    lines = run("plan").stdout.splitlines()
    assert "  would fail: create: refused: too few brokers" in lines
    assert "    what to do: start more brokers" in lines
    assert "core.events.v1: differs" in lines
    assert "  cannot be changed: partitions: it has 6, and 3 are wanted; Kafka takes no partition away" in lines


def test_a_plan_as_json_has_the_same(cluster: FakeCluster, run: _Command) -> None:
    result = run("plan", "--json")
    plan = json.loads(result.stdout)
    assert (result.exit_code, plan["differs"]) == (3, True)
    commands, events = plan["topics"]
    assert (commands["topic"], commands["exists"]) == ("core.commands.v1", False)
    assert [step["step"] for step in events["steps"]] == ["add_partitions", "alter_property"]
    assert events["steps"][1] == {
        "step": "alter_property",
        "property": "retention.ms",
        "before": "604800000",
        "after": "2592000000",
    }
    assert plan["not_managed"] == [{"topic": "orders.v1", "named_by": "a route", "exists": False}]


def test_apply_does_what_the_plan_shows_and_the_second_time_nothing(cluster: FakeCluster, run: _Command) -> None:
    first = run("apply", "--yes")
    assert first.exit_code == 0
    assert first.stdout.endswith(
        "core.commands.v1: created\n"
        "core.events.v1: partitions: 1 -> 3: done\n"
        "core.events.v1: retention.ms: 604800000 (7d) -> 2592000000 (30d): done\n"
    )
    second = run("apply")  # nothing to ask about
    assert (second.exit_code, second.stdout.splitlines()[-1]) == (0, "nothing to do")
    assert run("plan").exit_code == 0


def test_a_refused_topic_is_explained_and_the_others_are_done(cluster: FakeCluster, run: _Command) -> None:
    cluster.refuses = ["core.commands.v1"]
    result = run("apply", "--yes")
    assert result.exit_code == 3
    assert "cdc-relay: core.commands.v1: create: refused: too few brokers\n  what to do: start more" in result.stderr
    assert "core.events.v1: partitions: 1 -> 3: done" in result.stdout


def test_what_cannot_be_changed_makes_apply_exit_with_3(cluster: FakeCluster, run: _Command) -> None:
    run("apply", "--yes")
    cluster.topics["core.commands.v1"] = Absence.HIDDEN
    result = run("apply", "--yes")
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (3, "nothing to do")


def test_apply_asks_and_a_no_changes_nothing(
    cluster: FakeCluster, run: _Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "has_terminal", lambda: True)
    result = run("apply", stdin="n\n")
    assert (result.exit_code, list(cluster.topics)) == (1, ["core.events.v1"])
    assert "change 2 topics as shown?" in result.stderr
    assert run("apply", stdin="y\n").exit_code == 0


def test_without_a_terminal_apply_wants_yes(cluster: FakeCluster, run: _Command) -> None:
    result = run("apply")
    assert isinstance(result.exception, ConfigError)
    assert "--yes" in str(result.exception)
    assert list(cluster.topics) == ["core.events.v1"]


def test_a_file_that_names_no_topic_is_no_error(file: Path, cluster: FakeCluster, run: _Command) -> None:
    file.write_text(_FILE.partition("topic_defaults")[0].replace(", routes: [{topic: orders.v1}]", ""))
    result = run("plan")
    assert (result.exit_code, "names no topic" in result.stdout) == (0, True)


def test_another_sink_has_no_topics(file: Path, run: _Command) -> None:
    file.write_text(_FILE.replace("{kafka: {bootstrap.servers: '127.0.0.1:1'}}", "log"))
    result = run("plan")
    assert isinstance(result.exception, ConfigError)
    assert "sink.kafka" in str(result.exception)


def test_a_cluster_that_does_not_answer_is_one_clear_message(run: _Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics_kafka, "_READ_SECONDS", 1.0)
    result = run("plan", "--json")
    assert isinstance(result.exception, AwayError)
    assert "Connection refused" in str(result.exception)
    assert result.stdout == ""


def test_a_property_that_librdkafka_does_not_know_is_a_configuration_error(file: Path, run: _Command) -> None:
    file.write_text(_FILE.replace("'127.0.0.1:1'", "'127.0.0.1:1', nonsense: 1"))
    assert isinstance(run("plan").exception, ConfigError)
