"""What the catalogs say, read from real ones in every shape; what the fingerprint notices and what it lets pass."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import pytest

from cdc_relay.errors import RelayError
from cdc_relay.helper import Helper
from cdc_relay.routing.router import Outbox
from cdc_relay.sources import slot_source
from cdc_relay.sources.catalog import Facts, TableFacts, read_facts, read_sync_state
from cdc_relay.sources.line import Line
from cdc_relay.sources.preflight import Wanted
from cdc_relay.sources.slot_source import SlotSource
from tests.fixtures.fix_postgres import Database
from tests.fixtures.outbox import create_outbox

pytestmark = pytest.mark.core

COLUMNS = ("id", "aggregatetype", "aggregateid", "type", "payload")
BODY = "(id uuid, aggregatetype text, aggregateid text, type text, payload jsonb)"
OUTBOX = ("public", "outbox")


class Catalog:
    """A database with an outbox and publication `p`; facts about both, read as the relay reads them."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.line = Line.open(database.dsn())
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


@pytest.fixture
def catalog(database: Database) -> Iterator[Catalog]:
    catalog = Catalog(database)
    yield catalog
    catalog.line.close()


# --- server and slot


def test_the_server_says_what_it_is(catalog: Catalog) -> None:
    facts = catalog.facts()
    assert facts.server_version // 10000 == catalog.database.server.version
    assert (facts.database, facts.wal_level, facts.synchronous_standby_names) == (catalog.database.name, "logical", "")
    assert facts.wal_lsn > 0


def test_what_is_not_there_has_no_facts(catalog: Catalog) -> None:
    facts = catalog.facts(("public", "no_such_table"), ("no_such_schema", "outbox"))
    assert (facts.slot, facts.publication, facts.tables) == (None, None, {})
    assert facts.lag_bytes is None


def test_a_slot_is_described(catalog: Catalog) -> None:
    catalog.make_slot()
    slot = catalog.facts().slot
    assert slot is not None
    assert (slot.plugin, slot.database) == ("pgoutput", catalog.database.name)
    assert (slot.two_phase, slot.temporary, slot.wal_status) == (False, False, "reserved")
    assert slot.confirmed_lsn == catalog.database.confirmed_lsn(catalog.slot)


def test_a_two_phase_slot_is_seen(catalog: Catalog) -> None:
    catalog.make_slot("false", "true")
    slot = catalog.facts().slot
    assert slot is not None
    assert slot.two_phase


def test_a_physical_slot_has_neither_plugin_nor_database(catalog: Catalog) -> None:
    catalog.execute(f"SELECT pg_create_physical_replication_slot('{catalog.slot}')")
    slot = catalog.facts().slot
    catalog.execute(f"SELECT pg_drop_replication_slot('{catalog.slot}')")
    assert slot is not None
    assert (slot.plugin, slot.database, slot.confirmed_lsn) == ("", "", 0)


def test_the_lag_is_what_was_written_since(catalog: Catalog) -> None:
    catalog.make_slot()
    before = catalog.facts().lag_bytes
    catalog.execute("CREATE TABLE filler AS SELECT repeat('x', 1000) FROM generate_series(1, 1000)")
    after = catalog.facts().lag_bytes
    assert before is not None
    assert after is not None
    assert after - before > 1_000_000


def test_no_grant_is_needed_to_read_facts(catalog: Catalog) -> None:
    catalog.make_slot()
    catalog.execute("CREATE PUBLICATION p FOR TABLE outbox", "REVOKE ALL ON SCHEMA public FROM public")
    poor = Line.open(catalog.database.dsn(catalog.database.create_role()))
    facts = read_facts(poor, slot=catalog.slot, publication="p", tables=[OUTBOX])
    poor.close()
    assert facts.slot is not None
    assert facts.tables[OUTBOX] == catalog.table()


def test_a_walsender_that_is_gone_has_no_sync_state(catalog: Catalog) -> None:
    assert read_sync_state(catalog.line, 0) == ""


# --- publications


@pytest.mark.parametrize(
    ("options", "insert", "via_root"),
    [
        ("", True, False),
        ("WITH (publish = 'insert', publish_via_partition_root)", True, True),
        ("WITH (publish = 'update, delete')", False, False),
    ],
)
def test_a_publication_is_described(catalog: Catalog, options: str, insert: bool, via_root: bool) -> None:
    catalog.execute(f"CREATE PUBLICATION p FOR TABLE outbox {options}")
    publication = catalog.facts().publication
    assert publication is not None
    assert (publication.all_tables, publication.insert, publication.via_root) == (False, insert, via_root)


def test_a_table_is_a_member_by_name(catalog: Catalog) -> None:
    catalog.execute("CREATE PUBLICATION p FOR TABLE outbox")
    table = catalog.table()
    assert table.member.startswith("table ")
    assert (table.columns, table.column_list, table.row_filter) == (COLUMNS, (), "")
    assert (table.partitioned, table.logged, table.under_root) == (False, True, False)


def test_a_table_is_a_member_of_all_tables(catalog: Catalog) -> None:
    catalog.execute("CREATE PUBLICATION p FOR ALL TABLES")
    facts = catalog.facts()
    assert facts.tables[OUTBOX].member == "all"
    assert facts.publication is not None
    assert facts.publication.all_tables


def test_a_table_is_a_member_by_its_schema(catalog: Catalog) -> None:
    catalog.execute("CREATE PUBLICATION p FOR TABLES IN SCHEMA public")
    assert catalog.table().member.startswith("schema ")


@pytest.mark.parametrize("publication", ["", "CREATE PUBLICATION p", "CREATE PUBLICATION other FOR TABLE outbox"])
def test_a_table_that_the_publication_lacks_is_no_member(catalog: Catalog, publication: str) -> None:
    if publication:
        catalog.execute(publication)
    table = catalog.table()
    assert (table.member, table.columns) == ("", COLUMNS)


def test_a_row_filter_and_a_column_list_are_read(catalog: Catalog) -> None:
    catalog.execute("CREATE PUBLICATION p FOR TABLE outbox (payload, id) WHERE (type = 'OrderCreated')")
    table = catalog.table()
    assert table.row_filter == "(type = 'OrderCreated'::text)"
    assert table.column_list == ("id", "payload")


def test_dropped_and_added_columns_are_as_they_are_now(catalog: Catalog) -> None:
    catalog.execute(
        "ALTER TABLE outbox DROP COLUMN type, ADD COLUMN note text", "CREATE PUBLICATION p FOR TABLE outbox"
    )
    assert catalog.table().columns == ("id", "aggregatetype", "aggregateid", "payload", "note")


# --- tables


def test_an_unlogged_table_is_not_in_the_wal(catalog: Catalog) -> None:
    catalog.execute(f"CREATE UNLOGGED TABLE fast {BODY}", "CREATE PUBLICATION p FOR ALL TABLES")
    assert not catalog.table("public", "fast").logged


@pytest.mark.parametrize(
    "kind", ["VIEW v AS SELECT 1", "SEQUENCE v", "MATERIALIZED VIEW v AS SELECT 1", "TYPE v AS ()"]
)
def test_what_is_no_table_is_not_there(catalog: Catalog, kind: str) -> None:
    catalog.execute(f"CREATE {kind}")
    assert catalog.facts(("public", "v")).tables == {}


def partition(catalog: Catalog, root: str = "parted", leaf: str = "leaf") -> None:
    catalog.execute(
        f"CREATE TABLE {root} {BODY} PARTITION BY HASH (id)",
        f"CREATE TABLE {leaf} PARTITION OF {root} FOR VALUES WITH (MODULUS 2, REMAINDER 0)",
        f"CREATE TABLE {leaf}2 PARTITION OF {root} FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
    )


def test_a_partitioned_table_is_known_as_one(catalog: Catalog) -> None:
    partition(catalog)
    catalog.execute("CREATE PUBLICATION p FOR TABLE parted WITH (publish_via_partition_root)")
    root = catalog.table("public", "parted")
    assert (root.partitioned, root.under_root, root.columns) == (True, False, COLUMNS)
    assert root.member.startswith("table ")


VIA_ROOT = "WITH (publish_via_partition_root)"


@pytest.mark.parametrize(
    ("publication", "under_root"),
    [
        (f"FOR TABLE parted, leaf {VIA_ROOT}", True),
        (f"FOR ALL TABLES {VIA_ROOT}", True),
        (f"FOR TABLES IN SCHEMA public {VIA_ROOT}", True),
        (f"FOR TABLE leaf {VIA_ROOT}", False),
        ("FOR TABLE parted, leaf", False),
        ("FOR ALL TABLES", False),
        ("FOR TABLES IN SCHEMA public", False),
    ],
)
def test_a_leaf_is_under_its_root_where_the_publication_shows_it_so(
    catalog: Catalog, publication: str, under_root: bool
) -> None:
    partition(catalog)
    catalog.execute(f"CREATE PUBLICATION p {publication}")
    assert catalog.table("public", "leaf").under_root == under_root


def test_a_leaf_is_under_any_of_its_ancestors(catalog: Catalog) -> None:
    catalog.execute(
        f"CREATE TABLE top {BODY} PARTITION BY HASH (id)",
        "CREATE TABLE middle PARTITION OF top FOR VALUES WITH (MODULUS 1, REMAINDER 0) PARTITION BY HASH (id)",
        "CREATE TABLE leaf PARTITION OF middle FOR VALUES WITH (MODULUS 1, REMAINDER 0)",
        f"CREATE PUBLICATION p FOR TABLE top, leaf {VIA_ROOT}",
    )
    tables = catalog.facts(("public", "top"), ("public", "middle"), ("public", "leaf")).tables
    assert {name: table.under_root for (_, name), table in tables.items()} == {
        "top": False,
        "middle": True,
        "leaf": True,
    }


def test_an_unlogged_leaf_makes_a_partitioned_outbox_incomplete(catalog: Catalog) -> None:
    """Rows that land there never reach the WAL, whatever the publication says."""
    partition(catalog)
    catalog.execute("ALTER TABLE leaf SET UNLOGGED", f"CREATE PUBLICATION p FOR TABLE parted {VIA_ROOT}")
    assert not catalog.table("public", "parted").logged


HOSTILE = ("Sch.ema'\"; --", 'Out "box\\{}, ä€')
HOSTILE_COLUMNS = ('a"b', "c,d", "{e}", "NULL", "ä '\\")


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def test_hostile_names_are_names(catalog: Catalog) -> None:
    schema, table = map(quoted, HOSTILE)
    columns = ", ".join(f"{quoted(column)} text" for column in HOSTILE_COLUMNS)
    catalog.execute(
        f"CREATE SCHEMA {schema}",
        f"CREATE TABLE {schema}.{table} ({columns})",
        f"CREATE PUBLICATION p FOR TABLE {schema}.{table} ({', '.join(map(quoted, HOSTILE_COLUMNS[:4]))})"
        f" WHERE ({quoted(HOSTILE_COLUMNS[0])} <> 'it''s')",
    )
    found = catalog.table(*HOSTILE)
    assert found.columns == HOSTILE_COLUMNS
    assert found.column_list == HOSTILE_COLUMNS[:4]
    assert found.row_filter == """("a""b" <> 'it''s'::text)"""
    assert found.member.startswith("table ")


def test_names_are_told_apart_by_case_and_schema(catalog: Catalog) -> None:
    catalog.execute('CREATE TABLE "Outbox" (a int)', "CREATE SCHEMA other", "CREATE TABLE other.outbox (b int)")
    facts = catalog.facts(("public", "Outbox"), ("other", "outbox"), ("public", "OUTBOX"))
    assert {name: table.columns for name, table in facts.tables.items()} == {
        ("public", "Outbox"): ("a",),
        ("other", "outbox"): ("b",),
    }


# --- the fingerprint

PLAIN = "FOR TABLE outbox WITH (publish = 'insert')"


@pytest.mark.parametrize(
    ("publication", "change"),
    [
        (PLAIN, ["CREATE TABLE other (a int)", "ALTER PUBLICATION p ADD TABLE other"]),
        (PLAIN, ["CREATE TABLE other (a int)", "ALTER PUBLICATION p ADD TABLE other", "DROP TABLE other"]),
        (PLAIN, ["ALTER PUBLICATION p SET (publish = 'insert, update')"]),
        (PLAIN, ["ALTER TABLE outbox ADD COLUMN note text"]),
        (PLAIN, ["ALTER TABLE outbox ADD COLUMN note text", "ALTER TABLE outbox DROP COLUMN note"]),
        (PLAIN, ["CREATE INDEX ON outbox (type)", "ANALYZE outbox"]),
        (PLAIN, ["INSERT INTO outbox VALUES (gen_random_uuid(), 'order', 'k', 't', '{}')", "TRUNCATE outbox"]),
        (PLAIN, ["VACUUM FULL outbox"]),
        (PLAIN, ["ALTER TABLE outbox REPLICA IDENTITY FULL"]),
        (PLAIN, ["CREATE PUBLICATION other FOR TABLE outbox", "DROP PUBLICATION other"]),
        (PLAIN, ["ALTER PUBLICATION p SET TABLE outbox"]),
        ("FOR ALL TABLES", ["CREATE TABLE other (a int)", "DROP TABLE other"]),
        ("FOR TABLES IN SCHEMA public", ["CREATE TABLE other (a int)"]),
        ("FOR TABLES IN SCHEMA public", ["CREATE SCHEMA more", "ALTER PUBLICATION p ADD TABLES IN SCHEMA more"]),
    ],
)
def test_what_harms_no_row_leaves_the_fingerprint(catalog: Catalog, publication: str, change: list[str]) -> None:
    catalog.execute(f"CREATE PUBLICATION p {publication}")
    before = catalog.facts().fingerprint
    catalog.execute(*change)
    assert catalog.facts().fingerprint == before


def test_leaves_come_and_go_without_harm(catalog: Catalog) -> None:
    partition(catalog)
    catalog.execute(f"CREATE PUBLICATION p FOR TABLE parted {VIA_ROOT}")
    before = catalog.facts(("public", "parted")).fingerprint
    catalog.execute(
        "DROP TABLE leaf2", "CREATE TABLE leaf3 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1)"
    )
    assert catalog.facts(("public", "parted")).fingerprint == before


@pytest.mark.parametrize(
    ("publication", "change"),
    [
        (PLAIN, ["DROP PUBLICATION p"]),
        (PLAIN, ["DROP PUBLICATION p", f"CREATE PUBLICATION p {PLAIN}"]),
        (PLAIN, ["ALTER PUBLICATION p RENAME TO q"]),
        (PLAIN, ["ALTER PUBLICATION p DROP TABLE outbox"]),
        (PLAIN, ["ALTER PUBLICATION p DROP TABLE outbox", "ALTER PUBLICATION p ADD TABLE outbox"]),
        (PLAIN, ["ALTER PUBLICATION p SET (publish = 'update')"]),
        (PLAIN, ["ALTER PUBLICATION p SET (publish_via_partition_root = true)"]),
        (PLAIN, ["ALTER PUBLICATION p SET TABLE outbox WHERE (type = 'x')"]),
        (PLAIN, ["ALTER PUBLICATION p SET TABLE outbox (id, payload)"]),
        (PLAIN, ["DROP TABLE outbox"]),
        (PLAIN, ["DROP TABLE outbox", f"CREATE TABLE outbox {BODY}"]),
        (PLAIN, ["DROP TABLE outbox", f"CREATE TABLE outbox {BODY}", "ALTER PUBLICATION p ADD TABLE outbox"]),
        (PLAIN, ["ALTER TABLE outbox RENAME TO old"]),
        (PLAIN, ["CREATE SCHEMA other", "ALTER TABLE outbox SET SCHEMA other"]),
        ("FOR TABLE outbox WHERE (type = 'a')", ["ALTER PUBLICATION p SET TABLE outbox WHERE (type = 'b')"]),
        ("FOR TABLES IN SCHEMA public", ["ALTER PUBLICATION p DROP TABLES IN SCHEMA public"]),
        ("FOR ALL TABLES", ["DROP PUBLICATION p", "CREATE PUBLICATION p FOR ALL TABLES"]),
        ("FOR ALL TABLES", ["ALTER TABLE outbox SET UNLOGGED"]),
        ("FOR TABLES IN SCHEMA public", ["ALTER TABLE outbox SET UNLOGGED"]),
    ],
)
def test_what_may_skip_rows_changes_the_fingerprint(catalog: Catalog, publication: str, change: list[str]) -> None:
    catalog.execute(f"CREATE PUBLICATION p {publication}")
    before = catalog.facts().fingerprint
    catalog.execute(*change)
    assert catalog.facts().fingerprint != before


def test_an_outbox_that_becomes_a_leaf_of_a_published_root_changes_the_fingerprint(catalog: Catalog) -> None:
    """From then on its rows come under the root's name, which is no outbox: they would be ignored and confirmed."""
    catalog.execute(
        f"CREATE TABLE root {BODY} PARTITION BY HASH (id)",
        "ALTER TABLE outbox DROP CONSTRAINT outbox_pkey, ALTER aggregatetype DROP NOT NULL",
        f"CREATE PUBLICATION p FOR TABLE root, outbox {VIA_ROOT}",
    )
    before = catalog.facts().fingerprint
    catalog.execute("ALTER TABLE root ATTACH PARTITION outbox FOR VALUES WITH (MODULUS 1, REMAINDER 0)")
    assert catalog.facts().fingerprint != before


# --- the catalog's connection, watched by the helper thread

PATIENCE = 30.0


@pytest.fixture
def source(catalog: Catalog) -> Iterator[SlotSource]:
    catalog.make_slot()
    catalog.execute(f"CREATE PUBLICATION p {PLAIN}")
    outbox = Outbox("public", "outbox", "public.outbox", "id", "aggregateid", "type", "payload")
    source = SlotSource(
        Wanted(catalog.slot, "p", (outbox,)),
        catalog_conninfo=catalog.database.dsn(application_name="the catalog line"),
        replication_conninfo=catalog.database.dsn(replication="database"),
        wal_sender_timeout_seconds=10,
    )
    yield source
    source.close()


def end_the_catalog_line(catalog: Catalog) -> None:
    found = catalog.database.execute(
        "SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity WHERE application_name = 'the catalog line'"
    )
    assert found == [(True,)]


def test_a_catalog_line_that_ends_between_two_jobs_is_opened_again(catalog: Catalog, source: SlotSource) -> None:
    helper = Helper(source)
    helper.submit(source.preflight).result(PATIENCE)
    end_the_catalog_line(catalog)
    helper.submit(source.preflight).exception(PATIENCE)  # it may have come before the look
    assert helper.submit(source.preflight).exception(PATIENCE) is None
    assert not source.server_is_leaving
    helper.close()


@pytest.mark.parametrize("moment", ["read_facts", "read_sync_state"])
def test_a_catalog_line_that_ends_in_the_middle_of_a_check_does_not_end_the_helper(
    catalog: Catalog, source: SlotSource, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """psycopg raises when asked for the socket of a lost connection, and the helper asks after each job."""
    helper = Helper(source)
    helper.submit(source.preflight).result(PATIENCE)
    real: Callable[..., object] = getattr(slot_source, moment)

    def cut_first(*args: object, **kwargs: object) -> object:
        end_the_catalog_line(catalog)
        return real(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(slot_source, moment, cut_first)
        assert isinstance(helper.submit(source.check).exception(PATIENCE), RelayError)
    assert helper.submit(source.preflight).exception(5) is None
    helper.close()
