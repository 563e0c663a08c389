"""What the catalogs say of server, slot, publication and tables, read from real ones in every shape."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cdc_relay.sources.catalog import read_facts, read_sync_state
from cdc_relay.sources.line import Line
from tests.fixtures.fix_postgres import Database
from tests.integration.catalog_rig import BODY, COLUMNS, OUTBOX, VIA_ROOT, Catalog, partition

pytestmark = pytest.mark.core


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


def test_a_partitioned_table_is_known_as_one(catalog: Catalog) -> None:
    partition(catalog)
    catalog.execute("CREATE PUBLICATION p FOR TABLE parted WITH (publish_via_partition_root)")
    root = catalog.table("public", "parted")
    assert (root.partitioned, root.under_root, root.columns) == (True, False, COLUMNS)
    assert root.member.startswith("table ")


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
