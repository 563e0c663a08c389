"""An outbox with a time column, set up, and passes of retention over it: without a relay and without Kafka.

What is committed before `set_up` is before the guard's mark, and so settled; what comes later is not.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner

from cdc_relay.admin.retention.sweep import Sweep
from cdc_relay.admin.retention.swept import Swept
from cdc_relay.cli.setup import setup_command
from cdc_relay.config import load
from tests.fixtures.fix_postgres import Database

__all__ = ["OUTBOX", "Ground", "pause"]

OUTBOX = (
    "CREATE TABLE {table} (id uuid DEFAULT gen_random_uuid(), aggregatetype text NOT NULL DEFAULT 'order',"
    " aggregateid text, type text, payload jsonb, created_at {time_type} NOT NULL DEFAULT now()) {by}"
)


def pause(seconds: float) -> bool:
    time.sleep(seconds)
    return False


class Ground:
    def __init__(self, database: Database, directory: Path) -> None:
        self.database = database
        self.slot = f"{database.name}_slot"
        self.dsn = database.dsn()
        self.outboxes: list[dict[str, Any]] = [{"table": "public.outbox"}]
        self.retention: dict[str, Any] = {"outbox": "7d"}
        self.parking: dict[str, Any] = {}
        self.file = directory / "relay.yaml"

    def create_outbox(self, *, table: str = "public.outbox", by: str = "", time_type: str = "timestamptz") -> None:
        self.database.execute(OUTBOX.format(table=table, by=by, time_type=time_type))

    def insert(self, count: int = 1, *, days_ago: float = 10, table: str = "public.outbox", key: str = "old") -> None:
        self.database.execute(
            f"INSERT INTO {table} (aggregateid, created_at)"
            " SELECT %s, now() - %s * interval '1 day' FROM generate_series(1, %s)",
            [key, days_ago, count],
        )

    def set_up(self, *arguments: str) -> str:
        done = CliRunner().invoke(setup_command, ["-c", str(self.write()), *arguments])
        assert done.exit_code == 0, done.output + repr(done.exception)
        return done.output

    def be_owner(self) -> None:
        """From now on as one role that runs the relay and owns the tables: docs/retention.md."""
        role = self.database.create_relay_role()
        tables = self.database.execute("SELECT oid::regclass::text FROM pg_class WHERE relname ~ '^(outbox|long_ago)'")
        for (table,) in tables:
            self.database.execute(f"ALTER TABLE {table} OWNER TO {role}")
        self.database.execute(f"GRANT CREATE ON SCHEMA public TO {role}")
        self.dsn = self.database.dsn(role)

    def write(self) -> Path:
        self.file.write_text(yaml.safe_dump(self.config(), sort_keys=False))
        return self.file

    def config(self, **more: Any) -> dict[str, Any]:
        return {
            "source": {"dsn": self.dsn, "slot": self.slot, "publication": "orders_outbox"},
            "sink": "none",
            "outboxes": self.outboxes,
            "parking": self.parking,
            "retention": self.retention,
            **more,
        }

    def sweep(self, *, dry_run: bool = False) -> dict[str, Swept]:
        """By table."""
        return {swept.label: swept for swept in Sweep(load(self.write()), pause=pause, dry_run=dry_run).run()}

    def sweep_outbox(self, *, dry_run: bool = False, table: str = "public.outbox") -> Swept:
        return self.sweep(dry_run=dry_run)[table]

    def keys(self, table: str = "public.outbox") -> Mapping[str, int]:
        """How many rows there are of each key."""
        rows = self.database.execute(f"SELECT aggregateid, count(*) FROM {table} GROUP BY 1 ORDER BY 1")
        return {str(key): int(count) for key, count in rows}
