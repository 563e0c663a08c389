"""`cdc-relay dlq edit` on a real Postgres: what it changes, what it keeps, and what it refuses."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from psycopg.types.json import Json, Jsonb

from cdc_relay.errors import ConfigError, RefusedError
from tests.fixtures.dlq_lot import HOSTILE, NO_MORE, Lot
from tests.fixtures.fix_postgres import Database

pytestmark = pytest.mark.core


@pytest.fixture
def lot(database: Database, tmp_path: Path) -> Lot:
    return Lot(database, tmp_path)


# --- edit


def test_an_edit_keeps_the_original_and_who_did_it(lot: Lot) -> None:
    role = lot.database.create_role()
    lot.database.execute(f"GRANT USAGE ON SCHEMA cdc_relay TO {role}")
    lot.database.execute(f"GRANT SELECT, UPDATE ON cdc_relay.parked_records TO {role}")
    lot.dsn = lot.database.dsn(role)
    record = lot.park(value=b'{"total":1.10}', last_error="bad")
    document = lot.document(record).replace("1.10", "2.20").replace("orders.events.v1", "orders.events.v2")
    assert f"now: cdc-relay dlq retry {record}" in lot.edit(record, document)
    row = lot.row(record)
    assert (row["status"], row["topic"], row["value"]) == ("dead", "orders.events.v2", b'{"total": 2.20}')
    assert row["size_bytes"] == len(b'4711{"total": 2.20}ide1')
    [entry] = row["edits"]
    assert (entry["by"], entry["what"]) == (role, "edit")
    assert entry["before"] == {"topic": "orders.events.v1", "value": '{"total":1.10}'}
    assert abs((psycopg_time(lot, entry["at"]) - row["now"]).total_seconds()) < 60
    assert "edit (topic, value)" in lot.ok("show", record)


def psycopg_time(lot: Lot, text: str) -> Any:
    return lot.database.execute("SELECT %s::timestamptz", [text])[0][0]


@pytest.mark.parametrize(
    "columns",
    [
        {},
        {"value": None, "key": None, "headers": Jsonb([])},
        {"value": b"\xff\x00", "key": b"\x00", "headers": Jsonb([{"name": "h", "base64": "/wA="}] * 2)},
        {
            "value": b'{"a":1.10,"a":2}',
            "headers": Jsonb([{"name": "h", "value": None}, {"name": "h", "value": "a\nb"}]),
        },
        {"value": b"two\nlines\n", "key": b"null"},
        {"value": b"---\npayload: null\n", "key": b"yes"},
        {"value": b"", "key": b"", "headers": Jsonb([{"name": "h", "base64": "YQ=="}])},
        {"value": HOSTILE.encode(), "key": HOSTILE.encode()},
        {"value": "grün 漢字 👩".encode(), "key": "grün".encode()},
        {
            "topic": None,
            "columns": Json([{"name": "n", "type": 17, "value": "\\x00"}, {"name": "m", "type": 25, "value": None}]),
        },
    ],
)
def test_a_document_that_is_left_as_it_is_changes_nothing(lot: Lot, columns: dict[str, Any]) -> None:
    record = lot.park(**columns)
    before = lot.row(record)
    assert lot.edit(record, lot.document(record)) == f"record {record}: nothing changed\n"
    assert lot.row(record) | {"now": 0} == before | {"now": 0}


def test_key_and_headers_are_edited_with_duplicates_null_and_bytes(lot: Lot) -> None:
    record = lot.park()
    lot.edit(
        record,
        "topic: t\nkey: 0123\nheaders:\n- {name: h, value: yes}\n- {name: h, value: null}\n- {name: h, base64: /wA=}\n"
        "payload: null\n",
        "--force",
    )
    row = lot.row(record)
    assert (row["key"], row["value"]) == (b"0123", None)
    assert row["headers"] == [
        {"name": "h", "value": "yes"},
        {"name": "h", "value": None},
        {"name": "h", "base64": "/wA="},
    ]


def test_edit_and_retry_in_one(lot: Lot) -> None:
    record = lot.park(attempts=5)
    assert lot.edit(record, lot.document(record).replace("1.10", "3"), "--retry") == f"record {record}: due now\n"
    row = lot.row(record)
    assert (row["status"], row["attempts"], row["value"]) == ("retrying", 0, b'{"total": 3}')
    assert [entry["what"] for entry in row["edits"]] == ["edit", "retry"]


def test_edit_and_retry_does_neither_where_a_retry_is_refused(lot: Lot) -> None:
    record = lot.park("scheduled")
    document = lot.document(record).replace("1.10", "3")
    assert "is scheduled" in lot.refused("edit", record, "--file", "-", "--retry", stdin=document)
    assert lot.row(record)["value"] == b'{"total": 1.10}'
    lot.edit(record, document)
    assert lot.statuses(record) == ["scheduled"]


def test_a_record_that_waits_for_its_topic_waits_no_more_when_it_gets_another(lot: Lot) -> None:
    record = lot.park("retrying", reason="topic_closed")
    lot.edit(record, lot.document(record).replace("orders.events.v1", "other"), "--retry")
    assert (lot.row(record)["reason"], lot.row(record)["topic"]) == ("failure", "other")


def test_a_partition_goes_with_its_topic(lot: Lot) -> None:
    record = lot.park(partition=3)
    lot.edit(record, lot.document(record).replace("1.10", "2"))
    assert lot.row(record)["partition"] == 3
    lot.edit(record, lot.document(record).replace("orders.events.v1", "other"))
    row = lot.row(record)
    assert row["partition"] is None
    assert row["edits"][1]["before"] == {"topic": "orders.events.v1", "partition": 3}


def test_an_edit_gives_an_abandoned_claim_of_a_copy_back_which_was_no_attempt(lot: Lot) -> None:
    record = lot.park("dead", claimed_at="2020-01-01 00:00:00+00", attempts=5)
    lot.edit(record, lot.document(record).replace("1.10", "3"))
    row = lot.row(record)
    assert (row["claimed_at"], row["attempts"], row["next_retry_at"]) == (None, 5, None)


def test_an_edit_gives_an_abandoned_claim_back(lot: Lot) -> None:
    record = lot.park("retrying", claimed_at="2020-01-01 00:00:00+00", attempts=2)
    lot.edit(record, lot.document(record).replace("1.10", "3"))
    row = lot.row(record)
    assert (row["claimed_at"], row["attempts"]) == (None, 1)
    assert row["next_retry_at"] <= row["now"]


def test_json_stays_json_unless_forced(lot: Lot) -> None:
    record = lot.park()
    document = lot.document(record).replace("1.10", "oops")
    message = lot.refused("edit", record, "--file", "-", kind=ConfigError, stdin=document)
    assert "was JSON and would be no more: line 2, column 12" in message
    assert "--force" in message
    assert "oops" not in message
    assert lot.row(record)["value"] == b'{"total": 1.10}'
    lot.edit(record, document, "--force")
    assert b"oops" in lot.row(record)["value"]


def test_a_payload_that_was_broken_may_become_json_or_not(lot: Lot) -> None:
    record = lot.park(value=b'{"total": ')
    lot.edit(record, lot.document(record).replace('{"total": ', '{"total": "9"'))
    assert lot.row(record)["value"] == b'{"total": "9"'
    lot.edit(record, lot.document(record).replace('"9"', '"9"}'))
    assert lot.row(record)["value"] == b'{"total": "9"}'


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ("", "begin with topic"),
        ("topic: t\n", "lacks key, headers, payload"),
        ("topic: t\nkey: k\nheaders: []\ncolour: red\n---\n{}", "may have topic, key, headers only"),
        ("topic: t\nkey: k\nheaders: []\npayload: x\n---\n{}", "above the dashes and one below"),
        ("topic: a b\nkey: k\nheaders: []\n---\n{}", "topic name"),
        ("topic: null\nkey: k\nheaders: []\n---\n{}", "it has no topic"),
        ("topic: t\nkey: [k]\nheaders: []\n---\n{}", "expected text, null or {base64: …}"),
        ("topic: t\nkey: {base64: '?'}\nheaders: []\n---\n{}", "not base64"),
        ("topic: t\nkey: k\nheaders: {a: b}\n---\n{}", "headers: expected a list"),
        ("topic: t\nkey: k\nheaders: [{name: a}]\n---\n{}", "headers: each needs name"),
        ("topic: t\nkey: [\n---\n{}", "cannot be read as YAML: line"),
        ('topic: t\nkey: "\\ud800"\nheaders: []\n---\n{}', "UTF-8"),
    ],
)
def test_a_document_that_makes_no_sense_is_refused_with_why(lot: Lot, document: str, why: str) -> None:
    record = lot.park()
    assert why in lot.refused("edit", record, "--file", "-", kind=ConfigError, stdin=document)
    assert lot.row(record)["edits"] == []


def test_an_unroutable_row_is_repaired_by_its_columns(lot: Lot) -> None:
    columns = [{"name": "id", "type": 25, "value": "e1"}, {"name": "aggregatetype", "type": 25, "value": None}]
    record = lot.park(topic=None, columns=Json(columns), headers=Jsonb([]))
    document = lot.document(record)
    fixed = document.replace(
        "name: aggregatetype\n  type: 25\n  value: null", "name: aggregatetype\n  type: 25\n  value: order"
    )
    lot.edit(record, fixed)
    row = lot.row(record)
    assert (row["topic"], row["columns"][1]["value"]) == (None, "order")
    assert row["edits"][0]["before"] == {"columns": columns}
    ignored = lot.document(record).replace("1.10", "2")
    assert "would be ignored" in lot.refused("edit", record, "--file", "-", kind=ConfigError, stdin=ignored)


def test_an_unroutable_row_that_gets_a_topic_is_routed_no_more(lot: Lot) -> None:
    columns = [{"name": "id", "type": 25, "value": "e1"}]
    record = lot.park(topic=None, columns=Json(columns))
    lot.edit(record, lot.document(record).replace("topic: null", "topic: orders"))
    row = lot.row(record)
    assert (row["topic"], row["columns"]) == ("orders", None)
    assert row["edits"][0]["before"] == {"topic": None, "columns": columns}


@pytest.mark.parametrize(
    ("status", "columns", "why"), [*((s, {}, w) for s, w in NO_MORE), ("dead", {"claimed_at": "now"}, "moment")]
)
def test_a_record_in_the_wrong_state_is_not_edited(lot: Lot, status: str, columns: dict[str, Any], why: str) -> None:
    record = lot.park(status, **columns)
    assert why in lot.refused("edit", record, "--file", "-", stdin="")


def editor(lot: Lot, monkeypatch: pytest.MonkeyPatch, body: str) -> Path:
    """An $EDITOR: a program that gets the path as `path` and the text as `text`."""
    program = lot.directory / "editor.py"
    program.write_text(f"import pathlib, sys\npath = pathlib.Path(sys.argv[1])\ntext = path.read_text()\n{body}\n")
    monkeypatch.setenv("EDITOR", f"{sys.executable} {program}")
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("TMPDIR", str(lot.directory))
    monkeypatch.setattr("tempfile.tempdir", None)
    return program


def test_an_editor_edits(lot: Lot, monkeypatch: pytest.MonkeyPatch) -> None:
    record = lot.park()
    editor(lot, monkeypatch, "path.write_text(text.replace('1.10', '7'))")
    lot.ok("edit", record)
    assert lot.row(record)["value"] == b'{"total": 7}'


def test_an_editor_that_saves_nothing_changes_nothing(lot: Lot, monkeypatch: pytest.MonkeyPatch) -> None:
    record = lot.park()
    editor(lot, monkeypatch, "")
    assert "nothing changed" in lot.ok("edit", record)
    assert lot.row(record)["edits"] == []


def test_text_that_makes_no_sense_is_kept_for_another_try(lot: Lot, monkeypatch: pytest.MonkeyPatch) -> None:
    record = lot.park()
    editor(lot, monkeypatch, "path.write_text(text.replace('1.10', 'oops'))")
    message = lot.refused("edit", record, kind=ConfigError)
    kept = Path(message.rpartition(" ")[2])
    assert "oops" in kept.read_text()
    assert kept.stat().st_mode & 0o077 == 0
    lot.ok("edit", record, "--file", str(kept), "--force")
    assert b"oops" in lot.row(record)["value"]


def test_a_record_that_changed_under_the_editor_is_left_alone_and_the_text_kept(
    lot: Lot, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = lot.park()
    steps = (
        "path.write_text(text.replace('1.10', '7'))",
        "import psycopg",
        f"connection = psycopg.connect({lot.dsn!r}, autocommit=True)",
        "connection.execute(\"UPDATE cdc_relay.parked_records SET value = 'x'\")",
    )
    editor(lot, monkeypatch, "\n".join(steps))
    result = lot("edit", record)
    assert isinstance(result.exception, RefusedError)
    assert "changed by somebody else" in str(result.exception)
    assert '"total": 7' in Path(result.stderr.strip().rpartition(" ")[2]).read_text()
    assert lot.row(record)["value"] == b"x"
