"""`cdc-relay dlq` where the database or the shell does not do, and the SQL of its document."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cdc_relay.errors import AwayError
from cdc_relay.parking import desk
from tests.fixtures.dlq_lot import ROOT, Lot
from tests.fixtures.fix_postgres import Database
from tests.fixtures.process import wait_until

pytestmark = pytest.mark.core


@pytest.fixture
def lot(database: Database, tmp_path: Path) -> Lot:
    return Lot(database, tmp_path)


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
