"""`cdc-relay route`: what rows of the live table, or of the command line, would become."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from cdc_relay.cli import cli
from tests.fixtures.fix_relay import Pipeline

ROUTES = [
    {"when": {"aggregatetype": "audit"}, "drop": True},
    {"name": "vip", "when": {"payload.tier": "gold"}, "topic": "vip.{aggregatetype}", "key": "{type}-{aggregateid}"},
    {"when": {"type": {"not": None}}, "topic": "rest.{aggregatetype}", "envelope": "native"},
]
ROW = {"id": "1", "aggregatetype": "order", "aggregateid": "a7", "type": "T", "payload": {"tier": "gold", "n": 1}}


class Command:
    def __init__(self, pipeline: Pipeline, folder: Path) -> None:
        self._pipeline = pipeline
        self._file = folder / "relay.yaml"
        self.write({"table": "outbox", "routes": ROUTES})

    def write(self, *outboxes: dict[str, Any]) -> None:
        config = self._pipeline.as_owner(self._pipeline.config(outboxes=list(outboxes)))
        self._file.write_text(yaml.safe_dump(config))

    def __call__(self, *arguments: str) -> Result:
        return CliRunner().invoke(cli, ["route", "-c", str(self._file), *arguments])

    def json(self, *arguments: str) -> list[dict[str, Any]]:
        result = self(*arguments, "--json")
        assert result.exit_code == 0, result.output
        shown = json.loads(result.stdout)
        assert isinstance(shown, list)
        return shown


@pytest.fixture
def command(pipeline: Pipeline, tmp_path: Path) -> Command:
    return Command(pipeline, tmp_path)


def insert(pipeline: Pipeline, number: int, *, kind: str = "order", tier: str = "gold", event: str | None = "T") -> str:
    event_id = f"00000000-0000-0000-0000-{number:012}"
    pipeline.database.execute(
        "INSERT INTO outbox VALUES (%s, %s, 'a7', %s, %s)", [event_id, kind, event, json.dumps({"tier": tier})]
    )
    return event_id


def test_a_row_of_the_command_line_is_explained(command: Command) -> None:
    [shown] = command.json("--row", json.dumps(ROW))
    assert (shown["route"], shown["outcome"], shown["topic"], shown["key"]) == ("vip", "published", "vip.order", "T-a7")
    assert shown["headers"] == [["id", "1"]]
    assert json.loads(shown["value"]) == ROW["payload"]
    assert [miss["route"] for miss in shown["misses"]] == ["drop"]
    said = command("--row", json.dumps(ROW)).output
    assert "not drop: aggregatetype is order, wanted audit" in said
    assert "topic      vip.order" in said


def test_a_row_of_the_live_table_is_found_by_its_id(command: Command, pipeline: Pipeline) -> None:
    event_id = insert(pipeline, 7, tier="silver")
    [shown] = command.json("--id", event_id)
    assert (shown["route"], shown["topic"]) == ("rest.{aggregatetype}", "rest.order")
    assert [(miss["route"], miss["found"]) for miss in shown["misses"]] == [("drop", "order"), ("vip", "silver")]
    assert json.loads(shown["value"])["payload"] == {"tier": "silver"}


def test_the_last_rows_are_shown_with_what_would_happen_to_each(command: Command, pipeline: Pipeline) -> None:
    insert(pipeline, 1)
    insert(pipeline, 2, kind="audit")
    insert(pipeline, 3, tier="none", event=None)
    insert(pipeline, 4, kind="a/b")
    shown = command.json("--last", "3")
    assert [each["outcome"] for each in shown] == ["parked", "parked", "dropped"]
    assert [each.get("code") for each in shown] == ["illegal_topic", "no_route", None]
    assert shown[1]["remedy"]


def test_nothing_is_published_and_nothing_is_changed(command: Command, pipeline: Pipeline) -> None:
    event_id = insert(pipeline, 1)
    before = pipeline.confirmed_lsn()
    command.json("--id", event_id)
    assert (pipeline.records(), pipeline.confirmed_lsn()) == ([], before)


def test_a_message_lacks_nothing(command: Command) -> None:
    command.write({"message_prefix": "orders"})
    [shown] = command.json("--row", '{"aggregatetype": "order", "payload": "text"}')
    assert (shown["outbox"], shown["topic"], shown["value"]) == (
        "message prefix orders",
        "outbox.event.order",
        "text",
    )


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "exactly one of --row, --id and --last"),
        (("--row", "{}", "--last", "1"), 2, "exactly one of --row, --id and --last"),
        (("--row", "nonsense"), 2, "give a JSON object"),
        (("--row", "[1]"), 2, "give a JSON object"),
        (("--row", "{}"), 2, "--row lacks columns"),
        (("--id", "no-uuid"), 2, "--id: invalid input syntax for type uuid"),
        (("--id", "00000000-0000-0000-0000-000000000000"), 3, "has no row with id"),
        (("--last", "1"), 3, "has no rows"),
        (("--last", "0"), 2, "--last"),
        (("--row", "{}", "--outbox", "else"), 2, "one of public.outbox"),
    ],
)
def test_what_cannot_be_shown_says_why(command: Command, arguments: tuple[str, ...], code: int, words: str) -> None:
    result = command(*arguments)
    said = result.output + str(result.exception or "")
    assert words in said + str(getattr(result.exception, "remedy", ""))
    assert getattr(result.exception, "exit_code", result.exit_code) == code


def test_one_of_several_outboxes_has_to_be_named(command: Command) -> None:
    command.write({"table": "outbox"}, {"message_prefix": "orders"})
    assert "--outbox: one of public.outbox, orders" in command("--row", "{}").output
    [shown] = command.json("--row", json.dumps(ROW), "--outbox", "outbox")
    assert shown["topic"] == "outbox.event.order"


def test_a_route_that_no_row_reaches_is_warned_of_with_its_line(command: Command) -> None:
    command.write({"table": "outbox", "routes": [{"topic": "all"}, {"when": {"type": "T"}, "topic": "never"}]})
    said = command("--row", json.dumps(ROW)).output
    assert "outboxes[0].routes[1]: no row reaches it: routes[0] takes all of its rows before" in said
    assert "relay.yaml:" in said
