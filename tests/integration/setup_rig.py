"""One configuration for one database and `setup` run on it, and what it made, read from the catalogs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result
from psycopg import sql

from cdc_relay.cli.setup import setup_command
from cdc_relay.errors import RefusedError, RelayError
from cdc_relay.parking.postgres_lot import PostgresLot
from tests.fixtures.fix_postgres import Database

__all__ = [
    "HOSTILE",
    "OUTBOX",
    "ROOT",
    "ROW",
    "Setup",
    "as_yaml",
    "give_to_owner",
    "open_lot",
    "quoted",
    "read_catalog",
    "read_slots",
    "run_script",
    "undo",
]

ROOT = Path(__file__).parents[2]
OUTBOX = "CREATE TABLE {} (id uuid, aggregatetype text, aggregateid text, type text, payload jsonb)"
HOSTILE = """Or'der."Out;box\\ ü{x}%s:'slot'"""  # every sign that some quoting gets wrong
ROW = "(gen_random_uuid(), 'order', '1', 'created', '{}')"


class Setup:
    """One configuration file for one database, and the command run on it."""

    def __init__(self, database: Database, path: Path) -> None:
        self.database = database
        self.slot = f"{database.name}_slot"
        self.publication = "orders_outbox"
        self.tables = ["public.outbox"]
        self.dsn = database.dsn()
        self.columns = "{}"
        self.parking_dsn = ""
        self.path = path

    def __call__(self, *arguments: str) -> Result:
        self.path.write_text(self._yaml(), encoding="utf-8")
        return CliRunner().invoke(setup_command, ["-c", str(self.path), *arguments])

    def refused(self, kind: type[RelayError] = RefusedError) -> str:
        result = self()
        assert isinstance(result.exception, kind), result.output
        assert result.exception.exit_code == 3
        return str(result.exception)

    def catalog(self) -> dict[str, Any]:
        return read_catalog(self.database, self.slot)

    def slots(self) -> list[Any]:
        return read_slots(self.database, self.slot)

    def _yaml(self) -> str:
        quoted = {"dsn": self.dsn, "slot": self.slot, "publication": self.publication}
        lines = ["source:", *(f"  {key}: {as_yaml(value)}" for key, value in quoted.items())]
        lines += ["sink: {kafka: {bootstrap.servers: 'localhost:9092'}}", "outboxes:"]
        lines += [f"  - table: {as_yaml(table)}\n    columns: {self.columns}" for table in self.tables]
        lines += [f"parking: {{dsn: {as_yaml(self.parking_dsn)}}}"] if self.parking_dsn else []
        return "\n".join(lines)


def as_yaml(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def quoted(name: str) -> str:
    return sql.Identifier(name).as_string(None)


def read_catalog(database: Database, slot: str) -> dict[str, Any]:
    """All that setup makes, without oids, positions and times."""
    return {
        "publications": database.execute(
            "SELECT pubname, puballtables, pubinsert, pubupdate, pubdelete, pubtruncate, pubviaroot"
            " FROM pg_publication ORDER BY 1"
        ),
        "members": database.execute(
            "SELECT p.pubname, r.prrelid::regclass::text, r.prqual::text, r.prattrs::text"
            " FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid ORDER BY 1, 2"
        ),
        "slot": read_slots(database, slot),
        "schema": database.execute(
            "SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull"
            " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0"
            " WHERE n.nspname = 'cdc_relay' ORDER BY 1, a.attnum"
        ),
        "indexes": database.execute(
            "SELECT indexdef FROM pg_indexes WHERE schemaname = 'cdc_relay' ORDER BY indexname"
        ),
        "versions": database.execute("SELECT version FROM cdc_relay.schema_version ORDER BY 1"),
    }


def read_slots(database: Database, slot: str) -> list[Any]:
    return database.execute(
        "SELECT slot_name, plugin, slot_type, database, temporary, two_phase FROM pg_replication_slots"
        " WHERE slot_name = %s",
        [slot],
    )


def open_lot(dsn: str) -> PostgresLot:
    lot = PostgresLot(dsn, slot="orders", limit_records=10, limit_bytes=1_000, policies={})
    lot.open()
    return lot


def give_to_owner(setup: Setup, attributes: str) -> str:
    """The table to a role of its own, and the configuration to that role."""
    role = setup.database.create_role(attributes)
    setup.database.execute(f"ALTER TABLE public.outbox OWNER TO {role}")
    setup.dsn = setup.database.dsn(role)
    return role


def run_script(setup: Setup, name: str, *variables: str) -> None:
    given = [argument for variable in variables for argument in ("-v", variable)]
    setup.database.server.psql(*given, "-f", str(ROOT / "sql" / name), dbname=setup.database.name)


def undo(setup: Setup) -> None:
    setup.database.execute("DROP SCHEMA cdc_relay CASCADE")
    setup.database.execute("DROP PUBLICATION orders_outbox")
    setup.database.execute("SELECT pg_drop_replication_slot(%s)", [setup.slot])
