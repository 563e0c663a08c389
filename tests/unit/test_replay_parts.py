"""The pure parts of a replay: selections, pace, identities, stamps, and the position that waits for the oldest row."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cdc_relay.delivery.window import Window
from cdc_relay.errors import ConfigError, LedgerError
from cdc_relay.model import Policy, Record, Scheduled, Ticket
from cdc_relay.protocol.messages import Column
from cdc_relay.replay.batches import Batches
from cdc_relay.replay.pace import Pace
from cdc_relay.replay.page import Page, TableRow, read_time_us, row_identity
from cdc_relay.replay.position import Position
from cdc_relay.replay.selection import Selection, parse_ids, resolve
from cdc_relay.replay.stamp import REPLAY_HEADER, stamp
from cdc_relay.replay.statements import scan_statement
from cdc_relay.replay.table import Leaf, ReplayTable, TimeColumn
from cdc_relay.routing.router import DEFAULT_ROUTE, Outbox, Router

TEXT = 25
NAMES = ("id", "aggregatetype", "aggregateid", "type", "payload")
OUTBOX = Outbox(
    schema="public",
    name="outbox",
    label="public.outbox",
    id_column="id",
    key_column="aggregateid",
    type_column="type",
    payload_column="payload",
    routes=(DEFAULT_ROUTE,),
)
TABLE = ReplayTable(
    OUTBOX,
    tuple(Column(name, TEXT, -1, False) for name in NAMES),
    row_filter="",
    time=None,
    id_type="text",
    has_unique_ids=True,
    has_commit_times=False,
)


def make_row(number: int, kind: str = "order") -> TableRow:
    values = tuple(text.encode() for text in (str(number), kind, "k", "T", "{}"))
    return TableRow(values, 1, b"(0,%d)" % number, 7, 1_000_000, 10, Position(0, 1, 1, 0, number))


def make_batches() -> Batches:
    headers: list[tuple[str, bytes | None]] = [(REPLAY_HEADER, b"run-1")]
    window = Window(record_limit=100, byte_limit=10_000)
    return Batches(Router([OUTBOX]), window, run="run-1", headers=headers, position=Position())


def take(batches: Batches, *numbers: int) -> list[Ticket]:
    """As one batch, read whole."""
    rows = [make_row(number) for number in numbers]
    page = Page(TABLE, rows[-1].behind, rows)
    batch = batches.begin(page.end)
    outcomes = [batches.take(page, row, batch) for row in rows]
    batches.finish(batch)
    return [outcome[1] for outcome in outcomes if outcome is not None]


@pytest.mark.parametrize(("read_at_us", "outcome"), [(60_000_000, Record), (59_999_999, Scheduled), (0, Scheduled)])
def test_the_server_s_clock_decides_what_is_due(read_at_us: int, outcome: type) -> None:
    """By when the page was read. This machine's clock may be wrong."""
    outbox = replace(OUTBOX, schedule_column="due")
    table = replace(TABLE, outbox=outbox, columns=(*TABLE.columns, Column("due", 1184, -1, False)))
    row = make_row(1)
    row = row._replace(values=(*row.values, b"1970-01-01 00:01:00+00"))
    window = Window(record_limit=100, byte_limit=10_000)
    batches = Batches(Router([outbox]), window, run="run-1", headers=[], position=Position())
    page = Page(table, row.behind, [row], read_at_us=read_at_us)
    found = batches.take(page, row, batches.begin(page.end))
    assert found is not None and type(found[0]) is outcome


def test_the_position_waits_for_the_oldest_open_row() -> None:
    batches = make_batches()
    [first, second], [third] = take(batches, 1, 2), take(batches, 3)
    batches.settle(third)
    batches.settle(second)
    assert batches.position == Position()
    batches.settle(first)
    assert batches.position.line == 3 and batches.settled_count == 3
    assert batches.is_empty and not batches.window.record_count


def test_a_row_is_settled_once() -> None:
    batches = make_batches()
    [ticket] = take(batches, 1)
    batches.settle(ticket)
    batches.window.take(ticket.size_bytes)
    with pytest.raises(LedgerError):
        batches.settle(ticket)


def test_a_batch_that_is_not_read_whole_moves_nothing() -> None:
    batches = make_batches()
    row = make_row(1)
    page = Page(TABLE, row.behind, [row])
    outcome = batches.take(page, row, batches.begin(page.end))
    assert outcome is not None
    batches.settle(outcome[1])
    assert batches.position == Position()


def test_a_record_of_a_run_is_marked_counted_and_never_strict() -> None:
    record = Record("t", b"k", b"v", [("id", b"1")], 0, 6, Policy("r", strict=True, hold_dead=True))
    stamped = stamp(record, [(REPLAY_HEADER, b"run-1")])
    assert isinstance(stamped, Record)
    assert stamped.headers == [("id", b"1"), (REPLAY_HEADER, b"run-1")]
    assert stamped.size_bytes == 6 + len(REPLAY_HEADER) + 5
    assert (stamped.policy.strict, stamped.policy.hold_dead) == (False, False)
    assert record.headers == [("id", b"1")]
    scheduled = stamp(Scheduled(record, "2030-01-01"), [(REPLAY_HEADER, b"run-1")])
    assert isinstance(scheduled, Scheduled) and scheduled.record == stamped


def test_unique_ids_are_the_identity_and_others_need_their_place() -> None:
    here, there = make_row(1), make_row(2)
    assert row_identity(here, b"a", is_unique=True) == row_identity(there, b"a", is_unique=True)
    assert row_identity(here, b"a", is_unique=False) != row_identity(there, b"a", is_unique=False)
    assert row_identity(here, None, is_unique=True) != row_identity(there, None, is_unique=True)


def test_a_pace_is_kept_over_any_number_of_turns() -> None:
    pace = Pace(100)
    allowed = sum(pace.allow(turn / 1000) for turn in range(10_000))
    assert 950 <= allowed <= 1_010
    assert all(Pace(None).allow(0.0) for _ in range(1_000))


def test_a_rate_below_one_burst_still_moves() -> None:
    pace = Pace(1)
    assert [pace.allow(now) for now in (0.0, 0.5, 1.1, 1.2)] == [True, False, True, False]


def test_a_selection_survives_being_kept() -> None:
    selection = Selection(("public.outbox",), "2026-01-31 08:00:00+00:00", None, "a = 1", ("1", "2"))
    assert Selection.from_json(selection.as_json() | {"begins_after": "0/1"}) == selection
    assert Position.from_json(Position(1, 2, 3, 4, 5, 6).as_json()) == Position(1, 2, 3, 4, 5, 6)
    assert Position.from_json(None) == Position()


def test_how_long_ago_becomes_a_time() -> None:
    now = datetime(2026, 1, 31, 8, tzinfo=UTC)
    assert resolve(timedelta(hours=2), now=now) == "2026-01-31 06:00:00+00:00"
    assert resolve(datetime.fromisoformat("2026-01-31T08:00+02:00")) == "2026-01-31 06:00:00+00:00"


@pytest.mark.parametrize("lines", [[], ["", "  \n"], ["a\x00b"]])
def test_a_file_without_ids_is_a_usage_error(lines: list[str]) -> None:
    with pytest.raises(ConfigError):
        parse_ids(lines)


@pytest.mark.parametrize(
    ("printed", "time_us"),
    [(None, 0), (b"1000000.5", 1_000_000), (b"NaN", 0), (b"Infinity", 0), (b"-5", 0), (b"9" * 30, 0)],
)
def test_a_time_that_nobody_can_use_is_unknown(printed: bytes | None, time_us: int) -> None:
    assert read_time_us(printed) == time_us


@pytest.mark.parametrize(("mapped", "types", "chosen"), [
    ("at", {"at": 1184, "created_at": 1184}, "at"),
    ("at", {"at": 25, "created_at": 1114}, "created_at"),
    (None, {"created_at": 25}, None),
    (None, {"created_at": 1184}, "created_at"),
])  # fmt: skip
def test_the_mapped_time_comes_before_created_at(mapped: str | None, types: dict[str, int], chosen: Any) -> None:
    from dataclasses import replace

    columns = tuple(Column(name, oid, -1, False) for name, oid in types.items())
    time = TimeColumn.choose(replace(OUTBOX, timestamp_column=mapped), columns)
    assert (time.name if time else None) == chosen


def test_a_comment_in_the_condition_hides_nothing_behind_it() -> None:
    selection = Selection(("public.outbox",), where="true -- all of them")
    leaf = Leaf(1, '"public"."outbox"', 1, 1_000)
    statement = scan_statement(TABLE, selection, leaf, Position(0, 1, 1, 600, 3))
    assert "(\ntrue -- all of them\n)" in statement
    assert "ctid > '(600,3)' AND ctid < '(1000,0)'" in statement and statement.endswith("ORDER BY ctid")
