"""`cdc-relay dlq export` and `import` on a real Postgres: nothing is lost, nothing comes twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from psycopg.types.json import Json, Jsonb

from cdc_relay.errors import ConfigError
from tests.fixtures.dlq_lot import HOSTILE, SLOT, Lot
from tests.fixtures.fix_postgres import Database

pytestmark = pytest.mark.core


@pytest.fixture
def lot(database: Database, tmp_path: Path) -> Lot:
    return Lot(database, tmp_path)


# --- export and import


def column(name: str, value: str | None) -> dict[str, Any]:
    return {"name": name, "type": 25, "value": value}


def everything(lot: Lot) -> list[int]:
    return [
        lot.park(),
        lot.park(key=None, value=None, headers=Jsonb([])),
        lot.park(key=b"\xff\x00", value=bytes(range(256)), headers=Jsonb([{"name": "h", "base64": "/wA="}] * 2)),
        lot.park(headers=Jsonb([{"name": "h", "value": "1"}, {"name": "h", "value": None}, {"name": "", "value": ""}])),
        lot.park(topic=None, columns=Json([column("n", HOSTILE), column("m", None)])),
        lot.park(commit_lsn="0/0", run="replay-1", run_row=b"\xff\x00"),
        lot.park(
            event_id="e", event_type="t", correlation_id=HOSTILE, tenant="漢字", attempts=3, suspicion=1,
            first_failed_at="2026-01-01 00:00:00.000001+00", last_error_at="2026-01-02 00:00:00+00", last_error=HOSTILE,
            error_code="c", error_class="crash", remedy="r", scheduled_at="2026-01-01 00:00:00+00",
            copied_at="2026-01-03 00:00:00+00", strict=True, partition=3, hold_dead=True, xid=2**40,
            edits=Jsonb([{"at": "x"}]),
        ),
    ]  # fmt: skip


def content(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in ("id", "now", "edits")}


def test_what_is_exported_comes_back_without_a_loss(lot: Lot) -> None:
    ids = everything(lot)
    before = [content(lot.row(record)) for record in ids]
    exported = lot.ok("export")
    assert len(exported.splitlines()) == len(ids)
    lot.database.execute("DELETE FROM cdc_relay.parked_records")
    assert lot.ok("import", "-", "--yes", stdin=exported) == "7 imported as dead, 0 already there\n"
    after = [row["id"] for row in json.loads(lot.ok("list", "--json"))][::-1]
    assert [content(lot.row(record)) for record in after] == before
    assert not set(after) & set(ids)
    last = lot.row(after[-1])["edits"]
    assert last[0] == {"at": "x"}
    assert (last[1]["what"], last[1]["by"], last[1]["before"]) == (
        "import", lot.role, {"id": ids[-1], "slot": SLOT, "status": "dead"},
    )  # fmt: skip
    again = lot.ok("export")
    names = ("id", "edits")
    assert [strip(line, names) for line in again.splitlines()] == [strip(line, names) for line in exported.splitlines()]


def strip(line: str, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in json.loads(line).items() if name not in names}


def test_an_identity_that_is_there_is_skipped_and_counted(lot: Lot) -> None:
    record = lot.park()
    exported = lot.ok("export")
    lot.database.execute("DELETE FROM cdc_relay.parked_records")
    kept = lot.park()
    lines = exported + exported.replace('"ordinal": 1', '"ordinal": 2') + exported
    assert record != kept
    assert lot.ok("import", "-", "--yes", stdin=lines) == "1 imported as dead, 2 already there\n"


def test_import_into_another_slot_and_due_at_once(lot: Lot) -> None:
    lot.park(slot="elsewhere", status="published", attempts=4, published_at="2026-01-01 00:00:00+00")
    row = lot.row(1)
    lot.database.execute("UPDATE cdc_relay.parked_records SET slot = %s", [SLOT])
    exported = lot.ok("export", "--status", "published")
    lot.database.execute("UPDATE cdc_relay.parked_records SET slot = 'elsewhere'")
    assert lot.ok("import", "-", "--retry", stdin=exported) == "1 imported as retrying, due now, 0 already there\n"
    taken = lot.row(2)
    assert (taken["slot"], taken["status"], taken["attempts"], taken["published_at"]) == (SLOT, "retrying", 0, None)
    assert taken["next_retry_at"] <= taken["now"]
    assert lot.row(1) | {"now": 0} == row | {"now": 0}


def test_export_takes_filters_and_import_asks(lot: Lot) -> None:
    lot.park(topic="a")
    lot.park(topic="b")
    assert [json.loads(line)["topic"] for line in lot.ok("export", "--topic", "b").splitlines()] == ["b"]
    assert "import 2 records" in lot.refused("import", "-", kind=ConfigError, stdin=lot.ok("export"))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"xid": "743"}, "xid: expected int"),
        ({"strict": 1}, "strict: expected bool"),
        ({"key": 5}, "key: expected text, null or"),
        ({"value": {"base64": "!"}}, "value: this is not base64"),
        ({"headers": [{"name": "a"}]}, "headers: each needs name"),
        ({"event_id": "a\0b"}, "event_id: Postgres cannot hold NUL"),
        ({"event_id": "\ud800"}, "event_id: it is not UTF-8"),
        ({"commit_lsn": "nowhere"}, "Postgres does not take it"),
        ({"error_class": "mild"}, "parked_records_error_class"),
        ({"xid": 2**70}, "Postgres does not take it"),
        ({"outbox": None}, "outbox: expected str"),
    ],
)
def test_a_line_that_is_wrong_is_named_and_nothing_is_imported(lot: Lot, change: dict[str, Any], why: str) -> None:
    lot.park()
    good = json.loads(lot.ok("export"))
    lot.database.execute("DELETE FROM cdc_relay.parked_records")
    lines = json.dumps(good) + "\n\n" + json.dumps(good | {"ordinal": 2} | change) + "\n"
    message = lot.refused("import", "-", "--yes", kind=ConfigError, stdin=lines)
    assert "line 3" in message
    assert why in message
    assert lot.database.execute("SELECT count(*) FROM cdc_relay.parked_records") == [(0,)]


@pytest.mark.parametrize("line", ["{", "[]", '{"id": 1}', "[" * 100_000])
def test_a_line_of_something_else_is_refused(lot: Lot, line: str) -> None:
    assert "line 1" in lot.refused("import", "-", kind=ConfigError, stdin=line)
