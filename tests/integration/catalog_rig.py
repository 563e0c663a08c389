"""One database's catalogs, read as the relay reads them."""

from __future__ import annotations

import uuid

from cdc_relay.sources.catalog import Facts, TableFacts, read_facts
from cdc_relay.sources.line import Line
from tests.fixtures.fix_postgres import Database
from tests.fixtures.outbox import create_outbox

__all__ = ["BODY", "COLUMNS", "OUTBOX", "PLAIN", "VIA_ROOT", "Catalog", "partition"]

COLUMNS = ("id", "aggregatetype", "aggregateid", "type", "payload")
BODY = "(id uuid, aggregatetype text, aggregateid text, type text, payload jsonb)"
OUTBOX = ("public", "outbox")


class Catalog:
    """A database with an outbox and publication `p`; facts about both, read as the relay reads them."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.line = Line.open(database.dsn(database.create_role("LOGIN REPLICATION")))
        self.slot = f"s_{uuid.uuid4().hex[:12]}"
        with database.connect() as conn:
            create_outbox(conn)

    def execute(self, *statements: str) -> None:
        for statement in statements:
            self.database.execute(statement)

    def facts(self, *tables: tuple[str, str]) -> Facts:
        return read_facts(self.line, slot=self.slot, publication="p", tables=tables or [OUTBOX])

    def table(self, *table: str) -> TableFacts:
        schema, name = table or OUTBOX
        return self.facts((schema, name)).tables[schema, name]

    def make_slot(self, *options: str) -> None:
        more = "".join(f", {option}" for option in options)
        self.database.execute(f"SELECT pg_create_logical_replication_slot('{self.slot}', 'pgoutput'{more})")


def partition(catalog: Catalog, root: str = "parted", leaf: str = "leaf") -> None:
    catalog.execute(
        f"CREATE TABLE {root} {BODY} PARTITION BY HASH (id)",
        f"CREATE TABLE {leaf} PARTITION OF {root} FOR VALUES WITH (MODULUS 2, REMAINDER 0)",
        f"CREATE TABLE {leaf}2 PARTITION OF {root} FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
    )


VIA_ROOT = "WITH (publish_via_partition_root)"

PLAIN = "FOR TABLE outbox WITH (publish = 'insert')"
