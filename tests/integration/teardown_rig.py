"""`teardown` run on what `setup` made, rows of a lot put there by SQL, and what is left afterwards."""

from __future__ import annotations

from typing import Any

from click.testing import CliRunner, Result

from cdc_relay.cli.teardown import teardown_command
from cdc_relay.errors import RefusedError, RelayError
from tests.fixtures.fix_postgres import Database
from tests.integration.setup_rig import Setup

__all__ = ["Ground", "park", "remember"]


class Ground:
    """One configuration: set up, then taken down."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.database = setup.database
        self.slot = setup.slot
        assert setup().exit_code == 0

    def __call__(self, *arguments: str, stdin: str | None = None) -> Result:
        return CliRunner().invoke(teardown_command, ["-c", str(self.write()), *arguments], input=stdin)

    def write(self) -> str:
        self.setup("--print")  # writes the file for the dsn of now
        return str(self.setup.path)

    def ok(self, *arguments: str) -> str:
        result = self(*arguments)
        assert result.exit_code == 0, (result.output, result.exception)
        return result.stdout

    def refused(self, *arguments: str, kind: type[RelayError] = RefusedError) -> RelayError:
        """With nothing changed."""
        before = self.left()
        result = self("--yes", *arguments)
        assert isinstance(result.exception, kind), (result.output, result.exception)
        assert result.exception.exit_code == 3
        assert self.left() == before
        return result.exception

    def left(self) -> dict[str, Any]:
        return left_in(self.database, self.slot)


def left_in(database: Database, slot: str) -> dict[str, Any]:
    """Publications, our slot, and the rows of each table of the schema by slot; {} where there is no schema."""
    tables = database.execute(
        "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'slot'"
        " WHERE n.nspname = 'cdc_relay' AND c.relkind = 'r' ORDER BY 1"
    )
    rows = {table: database.execute(f"SELECT slot FROM cdc_relay.{table} ORDER BY 1") for (table,) in tables}
    return {
        "publications": database.execute("SELECT pubname FROM pg_publication ORDER BY 1"),
        "slot": database.execute("SELECT slot_name FROM pg_replication_slots WHERE slot_name = %s", [slot]),
        "rows": {table: [name for (name,) in found] for table, found in rows.items()},
    }


def park(database: Database, slot: str, *statuses: str) -> None:
    for ordinal, status in enumerate(statuses):
        database.execute(
            "INSERT INTO cdc_relay.parked_records (slot, status, reason, outbox, commit_lsn, ordinal, commit_time, xid,"
            " route, record_time, strict, hold_dead, size_bytes, max_attempts)"
            " VALUES (%s, %s, 'failure', 'public.outbox', '0/1', %s, now(), 1, 'r', now(), false, false, 1, 5)",
            [slot, status, ordinal],
        )
    database.execute("INSERT INTO cdc_relay.runs (slot, confirmed_lsn) VALUES (%s, '0/1')", [slot])


def remember(database: Database, slot: str) -> None:
    """What the guard keeps of a slot, a gap that somebody accepted, and a replay."""
    database.execute(
        "INSERT INTO cdc_relay.guard VALUES (%s, 1, 1, '', '0/1', now(), '0/1', now(),"
        " '0/1', '1', now(), 0, '0/1', '1', now(), 0) ON CONFLICT (slot) DO NOTHING",
        [slot],
    )
    database.execute(
        "INSERT INTO cdc_relay.gaps (slot, problem, from_lsn, to_lsn, from_time, to_time, replay)"
        " VALUES (%s, '', '0/1', '0/2', now(), now(), '')",
        [slot],
    )
    database.execute(
        "INSERT INTO cdc_relay.replays (id, slot, kind, state) VALUES (%s, %s, 'replay', 'finished')",
        [f"replay-{slot}", slot],
    )
