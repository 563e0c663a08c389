"""What the fingerprint of the catalogs notices, and what it lets pass."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fixtures.fix_postgres import Database
from tests.integration.catalog_rig import BODY, PLAIN, VIA_ROOT, Catalog, partition

pytestmark = pytest.mark.core


@pytest.fixture
def catalog(database: Database) -> Iterator[Catalog]:
    catalog = Catalog(database)
    yield catalog
    catalog.line.close()


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
