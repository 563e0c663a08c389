"""The lot's connection: what is refused at the start, what is only away, and news from operators."""

from __future__ import annotations

import select
from collections.abc import Iterator

import pytest

from cdc_relay.errors import AwayError, RefusedError
from cdc_relay.parking.entry import Claim
from cdc_relay.parking.postgres_lot import PostgresLot
from tests.fixtures.database import Database
from tests.fixtures.fix_proxy import MakeProxy
from tests.fixtures.process import wait_until
from tests.fixtures.scratch import free_port
from tests.integration.lots import Ground, due, lsns, make_entry

pytestmark = pytest.mark.core


@pytest.fixture
def ground(database: Database) -> Iterator[Ground]:
    ground = Ground(database)
    yield ground
    ground.close()


@pytest.fixture
def lot(ground: Ground) -> PostgresLot:
    lot = ground.open()
    lot.was_notified = False
    return lot


def refused(lot: PostgresLot) -> RefusedError:
    with pytest.raises(RefusedError) as raised:
        lot.open()
    return raised.value


# --- opening


@pytest.mark.parametrize(
    "damage", ["DROP SCHEMA cdc_relay CASCADE", "DELETE FROM cdc_relay.schema_version WHERE version = 7"]
)
def test_missing_tables_are_refused_with_the_command(ground: Ground, damage: str) -> None:
    ground.execute(damage)
    error = refused(ground.make())
    assert "version 7 is needed" in error.message
    assert "cdc-relay setup -c FILE" in error.remedy


def test_a_newer_version_is_refused(ground: Ground) -> None:
    ground.execute("INSERT INTO cdc_relay.schema_version VALUES (99)")
    assert "has version 99, this cdc-relay knows" in refused(ground.make()).message


def test_each_missing_right_is_refused_with_the_grants_that_help(ground: Ground) -> None:
    role = ground.database.create_role()
    lot = ground.make(ground.database.dsn(role))
    error = refused(lot)
    assert "permission denied" in error.message
    ground.execute("GRANT USAGE ON SCHEMA cdc_relay TO PUBLIC; GRANT SELECT ON cdc_relay.schema_version TO PUBLIC")
    assert "SELECT ON cdc_relay.parked_records" in refused(lot).message
    for statement in error.remedy.split(";"):
        ground.execute(statement)
    lot.open()
    lot.park([make_entry(1)])
    lot.take_over(0)
    assert lsns(due(lot)) == [1]


def test_nobody_listening_is_away_and_names_the_setting(ground: Ground) -> None:
    with pytest.raises(AwayError, match="not reachable") as raised:
        ground.make(ground.database.dsn(port=free_port()), setting="parking.dsn").open()
    assert "parking.dsn" in raised.value.remedy


def test_a_role_that_is_gone_is_refused_at_the_start_and_away_later(ground: Ground) -> None:
    role = ground.database.create_role("LOGIN SUPERUSER")
    lot = ground.make(ground.database.dsn(role))
    lot.open()
    ground.database.server.execute(f"ALTER ROLE {role} NOLOGIN")
    ground.cut()
    with pytest.raises(AwayError):
        lot.survey()
    with pytest.raises(AwayError, match="not permitted to log in"):
        lot.survey()
    assert "not permitted to log in" in refused(lot).message


def test_a_read_only_server_is_away_at_the_start(ground: Ground) -> None:
    dsn = ground.database.dsn(options="-c default_transaction_read_only=on")
    with pytest.raises(AwayError, match="read-only"):
        ground.make(dsn).open()


def test_a_silent_server_is_given_up_in_time(
    ground: Ground, make_proxy: MakeProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cdc_relay.parking.lot_line._ANSWER_SECONDS", 0.5)
    proxy = make_proxy("127.0.0.1", ground.database.server.port)
    lot = ground.make(ground.database.dsn(port=proxy.port, connect_timeout=2))
    lot.open()
    proxy.stall()
    with pytest.raises(AwayError, match="in time"):
        lot.park([make_entry(1)])
    proxy.resume()
    lot.park([make_entry(1)])
    assert len(ground.rows("id")) == 1


@pytest.mark.parametrize("sent_bytes", [1, 5_000, 100_000, 300_000])
def test_a_line_cut_in_the_middle_of_parking_parks_all_or_nothing(
    ground: Ground, make_proxy: MakeProxy, sent_bytes: int
) -> None:
    proxy = make_proxy("127.0.0.1", ground.database.server.port)
    lot = ground.make(ground.database.dsn(port=proxy.port))
    lot.open()
    entries = [make_entry(lsn, value=b"x" * 1_000) for lsn in range(1, 501)]
    proxy.truncate_after(sent_bytes, "to_server")
    with pytest.raises(AwayError):
        lot.park(entries)
    assert ground.rows("id") == []
    lot.park(entries)
    assert len(ground.rows("id")) == 500


def test_a_line_cut_before_the_answer_arrives_costs_neither_row_nor_claim(
    ground: Ground, make_proxy: MakeProxy
) -> None:
    proxy = make_proxy("127.0.0.1", ground.database.server.port)
    lot = ground.make(ground.database.dsn(port=proxy.port))
    lot.open()
    lot.park([make_entry(1, value=b"x" * 100_000)])
    proxy.truncate_after(50_000, "to_client")
    with pytest.raises(AwayError):
        due(lot)
    [claim] = wait_for_claims(lot)  # while Postgres has not heard of the cut, the row is locked
    assert claim.attempts == 1


def test_a_claim_that_is_committed_after_its_line_broke_is_released_too(ground: Ground, make_proxy: MakeProxy) -> None:
    proxy = make_proxy("127.0.0.1", ground.database.server.port)
    lot = ground.make(ground.database.dsn(port=proxy.port))
    lot.open()
    lot.park([make_entry(1, value=b"x" * 100_000)])
    proxy.truncate_after(50_000, "to_client")
    with pytest.raises(AwayError):
        due(lot)
    assert lot.claim_topic("another", limit=1) == []
    ground.database.execute("UPDATE cdc_relay.parked_records SET claimed_at = now(), attempts = attempts + 1")
    [claim] = wait_for_claims(lot)
    assert claim.attempts == 1


def wait_for_claims(lot: PostgresLot) -> list[Claim]:
    claims: list[Claim] = []

    def found() -> bool:
        claims.extend(due(lot))
        return bool(claims)

    wait_until(found, timeout=60, what="the record is claimed")
    return claims


# --- news


def wait_for_news(lot: PostgresLot) -> None:
    fileno = lot.fileno()
    assert fileno is not None
    assert select.select([fileno], [], [], 30)[0]
    lot.look()


@pytest.mark.parametrize("payload", ["orders", ""])
def test_a_notification_raises_the_flag(ground: Ground, lot: PostgresLot, payload: str) -> None:
    ground.execute(f"SELECT pg_notify('cdc_relay_lot', '{payload}')")
    wait_for_news(lot)
    assert lot.was_notified


def test_a_notification_for_another_slot_does_not(ground: Ground, lot: PostgresLot) -> None:
    ground.execute("SELECT pg_notify('cdc_relay_lot', 'other')")
    wait_for_news(lot)
    assert not lot.was_notified


def test_a_notification_that_comes_with_an_answer_is_not_missed(ground: Ground, lot: PostgresLot) -> None:
    ground.execute("SELECT pg_notify('cdc_relay_lot', 'orders')")
    fileno = lot.fileno()
    assert fileno is not None
    select.select([fileno], [], [], 30)
    lot.survey()
    assert lot.was_notified


def test_a_broken_connection_is_let_go_and_made_anew_by_the_next_call(ground: Ground, lot: PostgresLot) -> None:
    ground.cut()

    def is_let_go() -> bool:
        lot.look()
        return lot.fileno() is None

    wait_until(is_let_go, timeout=30, what="the lot lets its broken connection go")
    lot.survey()
    assert lot.was_notified  # whatever was said in between was missed
    assert lot.fileno() is not None


def test_looking_at_a_closed_lot_does_nothing(ground: Ground) -> None:
    lot = ground.make()
    lot.look()
    assert lot.fileno() is None


def test_a_large_record_leaves_no_large_buffers(lot: PostgresLot) -> None:
    lot.park([make_entry(1, value=b"x" * (17 << 20))])
    assert lot.fileno() is None
    lot.park([make_entry(2)])
    assert lot.fileno() is not None
