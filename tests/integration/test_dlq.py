"""`cdc-relay dlq` on a real Postgres: what an operator sees, and what is wrong with the database."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from psycopg.types.json import Json, Jsonb

from cdc_relay.errors import AwayError
from cdc_relay.parking import desk
from tests.fixtures.dlq_lot import HOSTILE, ROOT, Lot, on_a_terminal
from tests.fixtures.fix_postgres import Database
from tests.fixtures.process import wait_until

pytestmark = pytest.mark.core


@pytest.fixture
def lot(database: Database, tmp_path: Path) -> Lot:
    return Lot(database, tmp_path)


# --- list


def test_an_empty_lot_says_so(lot: Lot) -> None:
    assert lot.ok("list") == "the lot of slot orders is empty\n"
    assert json.loads(lot.ok("list", "--json")) == []
    assert lot.ok("stats") == "the lot of slot orders is empty\n"


def test_the_list_has_what_is_not_done_with_newest_first(lot: Lot) -> None:
    live = [lot.park(status) for status in ("dead", "retrying", "behind", "scheduled")]
    lot.park("published")
    assert [row["id"] for row in json.loads(lot.ok("list", "--json"))] == live[::-1]
    assert len(json.loads(lot.ok("list", "--json", "--status", "all"))) == 5


def test_a_line_of_the_list_has_topic_key_event_tries_and_error_but_no_payload(lot: Lot) -> None:
    lot.park(
        event_id="e1",
        event_type="Placed",
        attempts=2,
        error_code="no_route",
        last_error="no route takes it",
        value=b"secret",
    )
    title, line = lot.ok("list").splitlines()
    assert title.split() == ["ID", "STATUS", "NEXT", "TOPIC", "KEY", "EVENT", "TRIES", "AGE", "ERROR"]
    for part in ("orders.events.v1", "4711", "Placed e1", "2/5", " s ", "no_route: no route takes it", "to be decided"):
        assert part in line
    assert "secret" not in line


def test_ages_and_waits_are_in_words(lot: Lot) -> None:
    lot.park("retrying", parked_at="2020-01-01 00:00:00+00", next_retry_at="2020-01-01 00:00:00+00")
    lot.park("retrying", reason="topic_closed")
    lot.park("behind")
    lot.park("scheduled", scheduled_at="2999-01-01 00:00:00+00")
    lot.park("retrying", claimed_at="now")
    printed = lot.ok("list")
    for part in (" d ", "due", "waits for its topic", "waits for its key", "in 3", "being published"):
        assert part in printed


@pytest.mark.parametrize(
    ("option", "value", "columns"),
    [
        ("status", "retrying", {"status": "retrying"}),
        ("route", "refunds", {"route": "refunds"}),
        ("topic", "refunds.v1", {"topic": "refunds.v1"}),
        ("key", "k9", {"key": b"k9"}),
        ("key", "\\xff00", {"key": b"\xff\x00"}),
        ("error-class", "crash", {"error_class": "crash"}),
        ("since", "2h", {"parked_at": "now"}),
        ("since", "2025-06-01T00:00", {"parked_at": "2025-06-01 00:00:00+00"}),
        ("text", "TOO LARGE", {"last_error": "it is too large"}),
        ("text", "e77", {"event_id": "e77"}),
        ("text", "needle", {"value": b"\xff a needle"}),
    ],
)
def test_every_filter_finds_its_record_and_no_other_in_both_spellings(
    lot: Lot, option: str, value: str, columns: dict[str, Any]
) -> None:
    lot.park(parked_at="2020-01-01 00:00:00+00", error_class="transient")
    wanted = lot.park(**{"parked_at": "2020-01-01 00:00:00+00", **columns})
    for spelled in ([f"--{option}", value], ["--where", f"{option}={value}"]):
        assert [row["id"] for row in json.loads(lot.ok("list", "--json", *spelled))] == [wanted]


@pytest.mark.parametrize(
    "arguments",
    [("--since", "soon"), ("--where", "colour=red"), ("--status", "lost"), ("--key", "\\xf"), ("--limit", "0")],
)
def test_a_filter_that_makes_no_sense_is_a_usage_error(lot: Lot, arguments: tuple[str, str]) -> None:
    assert lot("list", *arguments).exit_code == 2


def test_the_list_ends_at_its_limit_and_says_how_many_there_are(lot: Lot) -> None:
    for _ in range(3):
        lot.park()
    result = lot("list", "--limit", "2")
    assert len(result.stdout.splitlines()) == 3
    assert "2 of 3 records" in result.stderr


def test_a_list_that_finds_nothing_says_what_there_is(lot: Lot) -> None:
    lot.park("published")
    assert "it has 1 published" in lot.ok("list")


def test_other_slots_are_not_shown_unless_asked_for(lot: Lot) -> None:
    other = lot.park(slot="elsewhere")
    assert json.loads(lot.ok("list", "--json")) == []
    assert [row["id"] for row in json.loads(lot.ok("list", "--json", "--all-slots"))] == [other]
    assert "elsewhere" in lot.ok("list", "--all-slots")
    assert "elsewhere" in lot.ok("stats", "--all-slots")
    assert "there is no record" in lot.refused("show", other)
    assert lot("retry", other).exit_code == 3
    assert lot.statuses(other) == ["dead"]


# --- which record


def test_an_event_id_works_where_one_record_has_it(lot: Lot) -> None:
    record = lot.park(event_id="7b-1")
    assert f"record {record}:" in lot.ok("show", "7b-1")


def test_an_event_id_of_several_records_lists_them(lot: Lot) -> None:
    first, second = lot.park(event_id="7b-1"), lot.park(event_id="7b-1")
    assert f"{first}, {second}" in lot.refused("show", "7b-1")
    assert f"{first}, {second}" in lot.left_alone("retry", "7b-1")
    assert lot.statuses(first, second) == ["dead", "dead"]


def test_the_number_in_the_lot_comes_before_an_event_id(lot: Lot) -> None:
    first = lot.park()
    second = lot.park(event_id=str(first))
    assert f"record {first}:" in lot.ok("show", first)
    third = lot.park(event_id="900719925474099312345")
    assert f"record {third}:" in lot.ok("show", "900719925474099312345")
    assert second != third


@pytest.mark.parametrize("name", ["99", "9" * 30, "nobody", "-", "x'; DROP TABLE y; --", "\u0663"])
def test_a_wrong_id_is_refused(lot: Lot, name: str) -> None:
    message = lot.refused("show", name)
    assert "there is no record" in message
    assert "dlq list" in message


# --- show


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


# --- stats


def test_stats_count_by_status_topic_and_error_class_with_the_oldest(lot: Lot) -> None:
    lot.park(topic="a", error_class="permanent", parked_at="2020-01-01 00:00:00+00")
    lot.park(topic="a", error_class="permanent")
    lot.park("retrying", topic="b", error_class="transient")
    lot.park("published", slot="elsewhere")
    figures = json.loads(lot.ok("stats", "--json"))
    assert [(group["status"], group["topic"], group["error_class"], group["count"]) for group in figures["groups"]] == [
        ("dead", "a", "permanent", 2),
        ("retrying", "b", "transient", 1),
    ]
    assert figures["statuses"]["dead"]["records"] == 2
    assert figures["statuses"]["dead"]["bytes"] == 40
    assert figures["statuses"]["dead"]["oldest_seconds"] > 86_400
    printed = lot.ok("stats")
    assert "STATUS" in printed
    assert "retrying 1, oldest 0 s" in printed


# --- what is wrong with the database


def test_a_missing_table_leads_to_setup(lot: Lot) -> None:
    lot.database.execute("DROP TABLE cdc_relay.parked_records CASCADE")
    assert "cdc-relay setup" in lot.refused("list")
    lot.database.execute("DROP SCHEMA cdc_relay CASCADE")
    assert "cdc-relay setup" in lot.refused("stats")


def test_a_missing_right_leads_to_its_grant(lot: Lot) -> None:
    record = lot.park()
    role = lot.database.create_role()
    lot.dsn = lot.database.dsn(role)
    assert f'GRANT USAGE ON SCHEMA cdc_relay TO "{role}"' in lot.refused("list")
    lot.database.execute(f"GRANT USAGE ON SCHEMA cdc_relay TO {role}")
    lot.database.execute(f"GRANT SELECT ON cdc_relay.parked_records TO {role}")
    lot.ok("list")
    assert "GRANT SELECT, INSERT, UPDATE" in lot.refused("retry", record)


def test_no_connection_is_an_error_of_ours_without_the_password(lot: Lot) -> None:
    for dsn in (lot.database.dsn(port=1), lot.database.dsn("nobody_like_this")):
        lot.dsn = dsn + " password=hunter2secret"
        message = lot.refused("list", kind=AwayError)
        assert "parking.dsn" in message
        assert "hunter2secret" not in message


def test_a_read_only_server_is_named(lot: Lot) -> None:
    record = lot.park()
    lot.dsn = lot.database.dsn(options="-c default_transaction_read_only=on")
    lot.ok("show", record)
    assert "connect to the primary" in lot.refused("retry", record)


def test_a_row_that_somebody_has_locked_is_given_up_in_time(lot: Lot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk, "_SETTINGS", "SET lock_timeout = '200ms'")
    record = lot.park()
    with lot.database.connect(autocommit=False) as other:
        other.execute("SELECT FROM cdc_relay.parked_records FOR UPDATE")
        assert "try again" in lot.refused("retry", record, kind=AwayError)


def test_the_real_command_exits_with_3_and_no_traceback(lot: Lot) -> None:
    command = [sys.executable, "-m", "cdc_relay", "dlq", "show", "-c", str(lot.config()), "99"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60, check=False)
    assert done.returncode == 3
    assert done.stderr.startswith("cdc-relay: there is no record 99")
    assert "Traceback" not in done.stderr


def test_an_export_into_a_closed_pipe_ends_quietly(lot: Lot) -> None:
    for _ in range(50):
        lot.park(value=b"x" * 100_000)
    command = [sys.executable, "-m", "cdc_relay", "dlq", "export", "-c", str(lot.config())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read().decode()
        assert process.wait(60) == 1
    assert "Traceback" not in said


def test_ctrl_c_ends_it_quietly(lot: Lot) -> None:
    record = lot.park()
    command = [sys.executable, "-m", "cdc_relay", "dlq", "retry", "-c", str(lot.config()), str(record)]
    waiting = "SELECT pid FROM pg_stat_activity WHERE datname = %s AND wait_event_type = 'Lock'"
    with lot.database.connect(autocommit=False) as other:
        other.execute("SELECT FROM cdc_relay.parked_records FOR UPDATE")
        with subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job in the background ignores it
        ) as process:
            asked = [lot.database.name]
            wait_until(lambda: lot.database.execute(waiting, asked) != [], timeout=60, what="it waits for the lock")
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=60)[1].decode()
    assert process.returncode in (1, 130)
    assert "Traceback" not in said
    assert lot.statuses(record) == ["dead"]


def test_bytes_on_the_command_line_that_are_no_text_are_a_usage_error(lot: Lot) -> None:
    for arguments in (("show", "\udcff"), ("list", "--topic", "\udcff"), ("list", "--key", "\udcff")):
        assert lot(*arguments).exit_code == 2


def test_the_sql_of_the_document_runs(lot: Lot) -> None:
    for _ in range(17):
        lot.park()
    text = (ROOT / "docs" / "parking.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```sql\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 5
    for block in blocks:
        lot.database.server.psql("-c", block, dbname=lot.database.name)
        lot.ok("show", 17)
    assert lot.row(17)["status"] == "retrying"


def test_a_record_is_brought_back_as_the_document_says(lot: Lot) -> None:
    for _ in range(17):
        lot.park()
    lot.ok("discard", 17, "--reason", "a mistake")
    text = (ROOT / "docs" / "parking.md").read_text(encoding="utf-8")
    block = text.partition("Bring a discarded")[2].partition("```sql\n")[2].partition("```")[0]
    lot.database.server.psql("-c", block, dbname=lot.database.name)
    lot.ok("retry", 17)
    assert "brought back" in lot.ok("show", 17)
