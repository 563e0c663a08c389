"""What goes into the lot: all of it, once, durably, within limits, whatever the bytes are."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest

from cdc_relay.errors import AwayError
from cdc_relay.model import ErrorClass, Failure, Headers, KeptColumn
from cdc_relay.parking.entry import Entry, Outcome, Reason, Status
from cdc_relay.parking.postgres_lot import PostgresLot
from tests.fixtures.database import Database
from tests.fixtures.outbox import SCRIPTS
from tests.integration.lots import FAILURE, TIME_US, Ground, due, lsns, make_entry, make_ticket, mark_all

pytestmark = pytest.mark.core


@pytest.fixture
def ground(database: Database) -> Iterator[Ground]:
    ground = Ground(database)
    yield ground
    ground.close()


def test_a_record_is_parked_with_all_that_is_known_of_it(ground: Ground) -> None:
    ground.open().park([make_entry(0x1_0000_0002, b"\x00key", value=b"\xffvalue", ordinal=3, event=(b"7", None, b"c"))])
    [row] = ground.rows(
        "slot, status, reason, outbox, commit_lsn::text, ordinal, extract(epoch FROM commit_time) * 1000000, xid,"
        " route, topic, key, value, partition, strict, size_bytes, event_id, event_type, correlation_id, tenant,"
        " attempts, max_attempts, last_error, error_code, error_class, remedy,"
        " first_failed_at = last_error_at, claimed_at"
    )
    assert row == (
        *("orders", "retrying", "failure", "public.outbox", "1/2", 3, TIME_US, 7, "orders", "orders"),
        *(b"\x00key", b"\xffvalue", None, False, 10, "7", None, "c", None, 0, 3),
        *(FAILURE.reason, FAILURE.code, "transient", FAILURE.remedy, True, None),
    )


def test_the_same_identity_adds_no_row_and_leaves_an_edited_one_alone(ground: Ground) -> None:
    lot = ground.open()
    lot.park([make_entry(1), make_entry(2)])
    ground.set("value = 'edited', status = 'dead'", "commit_lsn = '0/1'")
    lot.park([make_entry(1), make_entry(2), make_entry(3), make_entry(3)])
    assert ground.rows("value, status") == [(b"edited", "dead"), (b"v", "retrying"), (b"v", "retrying")]


def test_event_ids_that_repeat_or_are_null_are_no_identity(ground: Ground) -> None:
    lot = ground.open()
    lot.park([make_entry(lsn, event=(event, None, None, None)) for lsn, event in ((1, b"1"), (2, b"1"), (3, None))])
    lot.park([make_entry(4, event=(None, None, None, None))])
    assert ground.rows("event_id") == [("1",), ("1",), (None,), (None,)]


def test_the_same_place_at_another_time_is_another_record(ground: Ground) -> None:
    """After a restore the log may come to the same positions again."""
    lot = ground.open()
    lot.park([make_entry(1)])
    again = make_entry(1)
    again.ticket.transaction.commit_time_us += 1
    lot.park([again])
    assert len(ground.rows("id")) == 2


def test_many_records_keep_their_order(ground: Ground) -> None:
    lot = ground.open()
    lot.park([make_entry(lsn, value=str(lsn).encode()) for lsn in range(1, 1_001)])
    rows = ground.database.execute("SELECT value FROM cdc_relay.parked_records ORDER BY id")
    assert rows == [(str(lsn).encode(),) for lsn in range(1, 1_001)]


def test_headers_keep_order_duplicates_null_and_bytes(ground: Ground) -> None:
    headers: Headers = [("b", b"1"), ("a", None), ("b", b"\xff\x00"), ("b", b""), ("ä", "€".encode()), ("n", b"a\x00b")]
    lot = ground.open()
    lot.park([make_entry(1, headers=headers)])
    [claim] = due(lot)
    assert claim.headers == headers
    assert claim.record is not None
    assert claim.record.headers == headers
    [(stored,)] = ground.rows("headers")
    assert stored[0] == {"name": "b", "value": "1"}
    assert stored[2] == {"name": "b", "base64": base64.b64encode(b"\xff\x00").decode()}


@pytest.mark.parametrize("value", [None, b"", b"\x00", bytes(range(256)), "ä€𝄞".encode()])
def test_key_and_value_come_back_as_they_were(ground: Ground, value: bytes | None) -> None:
    lot = ground.open()
    lot.park([make_entry(1, value, value=value)])
    [claim] = due(lot)
    assert claim.record is not None
    assert (claim.record.key, claim.record.value) == (value, value)
    assert claim.record.timestamp_ms == TIME_US // 1000


def test_texts_that_postgres_would_refuse_do_not_keep_a_record_out(ground: Ground) -> None:
    failure = Failure("X", "bad\x00 \udcff text", "do\x00", ErrorClass.PERMANENT)
    lot = ground.open()
    lot.park([make_entry(1, event=(b"\x00\xff", b"\xc3", None, b"t\x00"), failure=failure)])
    assert ground.rows("event_id, event_type, tenant, last_error") == [
        ("\ufffd\ufffd", "\ufffd", "t\ufffd", "bad\ufffd ? text")
    ]


def test_a_database_of_another_encoding_takes_every_record(ground: Ground) -> None:
    server = ground.database.server
    name = f"{ground.database.name}_latin1"
    server.execute(f"CREATE DATABASE {name} ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'")
    try:
        for script in ("003_schema.sql", "004_parking.sql", "007_parked_replays.sql"):
            server.psql("-f", str(SCRIPTS / script), dbname=name)
        lot = ground.make(server.dsn(name))
        lot.open()
        lot.park([make_entry(1, headers=[("€", "€".encode())], event=("€".encode(), None, None, None))])
        [claim] = due(lot)
        assert claim.headers == [("\\u20ac", "€".encode())]
        lot.close()
    finally:
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_an_unroutable_row_keeps_its_columns(ground: Ground) -> None:
    columns = [
        KeptColumn("id", 20, b"9007199254740993"),
        KeptColumn("x", 1114, None, type_modifier=3),
        KeptColumn("b", 17, b"\xff"),
    ]
    ticket = make_ticket(1)._replace(topic="")
    lot = ground.open()
    lot.park(
        [Entry(ticket, Status.RETRYING, Reason.FAILURE, failure=FAILURE, columns=columns, key=b"k", retry_seconds=0)]
    )
    assert ground.rows("topic, key, value, size_bytes") == [(None, b"k", None, 10)]
    [claim] = due(lot)
    assert (claim.topic, claim.record, claim.columns, claim.size_bytes) == ("", None, columns, 10)


def test_a_partition_is_kept(ground: Ground) -> None:
    entry = make_entry(1)
    assert entry.record is not None
    lot = ground.open()
    lot.park([entry._replace(record=entry.record._replace(partition=4))])
    [claim] = due(lot)
    assert claim.record is not None
    assert claim.record.partition == 4


@pytest.mark.parametrize("megabytes", [10, 100])
def test_a_large_payload_is_parked_whole_and_comes_back(ground: Ground, megabytes: int) -> None:
    value = bytes(range(256)) * 4096 * megabytes
    lot = ground.open()
    lot.park([make_entry(1, value=value), make_entry(2)])
    assert ground.rows("length(value)") == [(len(value),), (1,)]
    [claim] = due(lot)  # at least one, however large
    assert claim.record is not None
    assert claim.record.value == value


# --- limits


def test_a_full_lot_is_away_with_the_remedy(ground: Ground) -> None:
    lot = ground.open(limit_records=2)
    lot.park([make_entry(1), make_entry(2)])
    with pytest.raises(AwayError, match=r"the lot is full: 2 records \(parking.limit.records: 2\)") as raised:
        lot.park([make_entry(3)])
    assert "parking.limit" in raised.value.remedy
    assert "dlq" in raised.value.remedy
    assert len(ground.rows("id")) == 2


def test_a_lot_full_of_bytes_is_away(ground: Ground) -> None:
    lot = ground.open(limit_bytes=1_000)
    lot.park([make_entry(1, value=b"x" * 2_000)])
    with pytest.raises(AwayError, match=r"2,001 bytes \(parking.limit.bytes: 1,000\)"):
        lot.park([make_entry(2)])


def test_a_batch_larger_than_the_limit_still_passes(ground: Ground) -> None:
    ground.open(limit_records=2).park([make_entry(lsn) for lsn in range(1, 6)])
    assert len(ground.rows("id")) == 5


def test_room_made_by_an_operator_is_seen_at_once(ground: Ground) -> None:
    lot = ground.open(limit_records=1)
    lot.park([make_entry(1)])
    ground.set("status = 'discarded'")
    lot.park([make_entry(2)])
    assert len(ground.rows("id")) == 2


def test_what_is_published_makes_room(ground: Ground) -> None:
    lot = ground.open(limit_records=1)
    lot.park([make_entry(1)])
    mark_all(lot, due(lot), Outcome.PUBLISHED)
    lot.park([make_entry(2)])
    assert ground.rows("status") == [("published",), ("retrying",)]


def test_a_lot_that_was_full_before_the_start_is_full(ground: Ground) -> None:
    ground.open().park([make_entry(1)])
    lot = ground.open(limit_records=1)
    lot.take_over(0)
    with pytest.raises(AwayError, match="full"):
        lot.park([make_entry(2)])


# --- a Postgres that will not


def test_a_missing_right_is_away_with_the_grant(ground: Ground) -> None:
    lot = open_as_role(ground)
    ground.execute("REVOKE INSERT ON cdc_relay.parked_records FROM PUBLIC")
    with pytest.raises(AwayError, match="permission denied") as raised:
        lot.park([make_entry(1)])
    assert "GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA cdc_relay" in raised.value.remedy


def open_as_role(ground: Ground) -> PostgresLot:
    role = ground.database.create_role()
    ground.execute("GRANT USAGE ON SCHEMA cdc_relay TO PUBLIC")
    ground.execute("GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA cdc_relay TO PUBLIC")
    lot = ground.make(ground.database.dsn(role))
    lot.open()
    return lot


def test_a_read_only_server_is_away(ground: Ground) -> None:
    lot = ground.open()
    ground.execute(f"ALTER DATABASE {ground.database.name} SET default_transaction_read_only = on")
    ground.cut()
    with pytest.raises(AwayError):
        lot.park([make_entry(1)])
    with pytest.raises(AwayError) as raised:
        lot.park([make_entry(1)])
    assert "primary" in raised.value.remedy


def test_a_locked_table_is_away_within_the_limit(ground: Ground) -> None:
    lot = ground.open()
    with ground.database.connect(autocommit=False) as operator:
        operator.execute("LOCK TABLE cdc_relay.parked_records")
        with pytest.raises(AwayError, match="lock timeout") as raised:
            lot.park([make_entry(1)])
    assert "pg_stat_activity" in raised.value.remedy
    lot.park([make_entry(1)])


def test_a_refused_value_is_not_shown(ground: Ground) -> None:
    entry = make_entry(1, status=Status.SCHEDULED, reason=Reason.SCHEDULE, scheduled_at="secret")
    with pytest.raises(AwayError, match="SQLSTATE 22007") as raised:
        ground.open().park([entry])
    assert "secret" not in str(raised.value)


def test_a_batch_is_parked_whole_or_not_at_all(ground: Ground) -> None:
    lot = ground.open()
    bad = make_entry(999, status=Status.SCHEDULED, reason=Reason.SCHEDULE, scheduled_at="x")
    with pytest.raises(AwayError):
        lot.park([*(make_entry(lsn) for lsn in range(1, 500)), bad])
    assert ground.rows("id") == []
    lot.park([make_entry(lsn) for lsn in range(1, 500)])
    assert len(ground.rows("id")) == 499


def test_parking_is_durable_whatever_the_role_prefers(ground: Ground) -> None:
    ground.execute(f"ALTER DATABASE {ground.database.name} SET synchronous_commit = off")
    lot = ground.open()
    assert lot._line.run("SELECT current_setting('synchronous_commit')") == [(b"on",)]


def test_a_connection_cut_between_two_calls_is_made_anew(ground: Ground) -> None:
    lot = ground.open()
    lot.park([make_entry(1)])
    ground.cut()
    with pytest.raises(AwayError, match="lot cannot be"):
        lot.park([make_entry(2)])
    lot.park([make_entry(2)])
    assert len(ground.rows("id")) == 2
    assert lsns(due(lot)) == [1, 2]
