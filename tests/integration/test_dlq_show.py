"""`cdc-relay dlq show`: all of a record, and nothing of it that harms a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from psycopg.types.json import Json, Jsonb

from tests.fixtures.dlq_lot import HOSTILE, Lot, on_a_terminal
from tests.fixtures.fix_postgres import Database

pytestmark = pytest.mark.core


@pytest.fixture
def lot(database: Database, tmp_path: Path) -> Lot:
    return Lot(database, tmp_path)


def test_show_has_everything_with_the_payload_laid_out_and_the_remedy(lot: Lot) -> None:
    record = lot.park(
        correlation_id="c1",
        tenant="t1",
        error_code="MSG_SIZE_TOO_LARGE",
        error_class="transient",
        last_error="Broker: Message size too large",
        remedy="raise max.message.bytes of the topic",
        value=b'{"a": 1.10, "b": [true, {}], "big": 12345678901234567890.10}',
        headers=Jsonb([{"name": "h", "value": "1"}, {"name": "h", "value": None}, {"name": "h", "base64": "/wA="}]),
    )
    shown = lot.ok("show", record)
    assert (
        '{\n    "a": 1.10,\n    "b": [\n      true,\n      {}\n    ],\n    "big": 12345678901234567890.10\n  }' in shown
    )
    assert "what to do: raise max.message.bytes of the topic" in shown
    assert "headers: 3\n  h: 1\n  h: NULL\n  h: \\xff00\n" in shown
    for part in ("16/B374D848", "transaction 743", "transient, MSG_SIZE_TOO_LARGE", "c1", "t1", "0 of 5"):
        assert part in shown


@pytest.mark.parametrize(
    ("value", "part"),
    [
        (None, "payload: NULL"),
        (b"", "payload: 0 B, text"),
        (b"just words", "payload: 10 B, text\n  just words"),
        (b'{"half": ', 'text\n  {"half": '),
        (b"\x00\x01\xffABC", "payload: 6 B, binary\n  00000000  00 01 ff 41 42 43"),
        (b"\xff" * 1000, "744 bytes more: --json"),
    ],
)
def test_every_kind_of_payload_is_shown(lot: Lot, value: bytes | None, part: str) -> None:
    assert part in lot.ok("show", lot.park(value=value))


def test_show_as_json_loses_nothing(lot: Lot) -> None:
    record = lot.park(value=b"\xff\x00", key=None)
    shown = json.loads(lot.ok("show", record, "--json"))
    assert (shown["value"], shown["key"], shown["commit_lsn"]) == ({"base64": "/wA="}, None, "16/B374D848")
    assert shown["commit_time"] == "2026-01-31T08:00:00.123456+00:00"


def test_a_huge_payload_is_cut_unless_all_of_it_is_asked_for(lot: Lot) -> None:
    record = lot.park(value=json.dumps({"text": "x" * 10_000_000}).encode())
    assert len(lot.ok("show", record)) < 120_000
    assert "characters more: --full" in lot.ok("show", record)
    assert len(lot.ok("show", record, "--full")) > 10_000_000


def test_an_unroutable_row_is_shown_with_its_columns(lot: Lot) -> None:
    columns = Json([{"name": "id", "type": 25, "value": "e1"}, {"name": "aggregatetype", "type": 25, "value": None}])
    shown = lot.ok("show", lot.park(topic=None, columns=columns, value=None, key=None))
    assert "columns, to be routed again: 2\n  id: e1\n  aggregatetype: NULL" in shown
    assert "none: could not be routed" in shown


def is_harmless(output: str) -> bool:
    return all(char.isprintable() or char == "\n" for char in output)


def test_hostile_content_reaches_no_terminal(lot: Lot) -> None:
    everywhere = dict.fromkeys(
        ("event_id", "event_type", "correlation_id", "tenant", "last_error", "error_code", "remedy", "route", "topic"),
        HOSTILE,
    )
    record = lot.park(
        **everywhere,
        key=HOSTILE.encode(),
        value=HOSTILE.encode(),
        headers=Jsonb([{"name": HOSTILE, "value": HOSTILE}]),
        columns=Json([{"name": HOSTILE, "type": 25, "value": HOSTILE}]),
        edits=Jsonb([{"at": HOSTILE, "by": HOSTILE, "what": HOSTILE, "reason": HOSTILE}, {HOSTILE: 1}]),
    )
    lot.park(value=b'{"\x9b\xc2\x9b31m": 1}', key="\x9b31m".encode())
    for output in (
        lot.ok("list"),
        lot.ok("list", "--json"),
        lot.ok("show", record),
        lot.ok("show", record, "--json"),
        lot.ok("show", record + 1),
        lot.ok("edit", record, "--print"),
        lot.ok("edit", record + 1, "--print"),
        lot.ok("stats"),
        lot.ok("stats", "--json"),
        lot.ok("export"),
        lot.refused("show", HOSTILE + "?").replace("\n  what to do", ""),
    ):
        assert is_harmless(output), output
    assert "[red]boo[/red]" in lot.ok("list")


def test_markup_and_escapes_are_plain_text_on_a_terminal_too(lot: Lot) -> None:
    lot.park(last_error="[red]boo[/red] :smile: \x1b[2J")
    shown = on_a_terminal(lot, "list", columns="300")
    assert "[red]boo[/red] :smile: \\x1b[2J" in shown
    assert "\x1b[2J" not in shown
