"""The catalog's connection, watched by the helper thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from cdc_relay.errors import RelayError
from cdc_relay.helper import Helper
from cdc_relay.routing.router import Outbox
from cdc_relay.sources import slot_source
from cdc_relay.sources.preflight import Wanted
from cdc_relay.sources.slot_source import SlotSource
from tests.fixtures.fix_postgres import Database
from tests.fixtures.outbox import create_lot
from tests.integration.catalog_rig import PLAIN, Catalog

pytestmark = pytest.mark.core


@pytest.fixture
def catalog(database: Database) -> Iterator[Catalog]:
    catalog = Catalog(database)
    yield catalog
    catalog.line.close()


PATIENCE = 30.0


@pytest.fixture
def source(catalog: Catalog) -> Iterator[SlotSource]:
    with catalog.database.connect() as conn:
        create_lot(conn)  # and the guard
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
