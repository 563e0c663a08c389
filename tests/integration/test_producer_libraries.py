"""The SDK with every library that it takes, on a real Postgres: in the caller's transaction, whatever is written."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from psycopg.rows import namedtuple_row

from cdc_relay.outbox import Event, Outbox, TransactionError, UnknownConnectionError, emit, emit_async, emit_many
from tests.fixtures.database import Database
from tests.integration.producer_rig import (
    LIBRARIES,
    OUTSIDE,
    Emit,
    RollBackError,
    create_table,
    django_database,
)

of_each_library = pytest.mark.parametrize("emit_with", LIBRARIES.values(), ids=LIBRARIES.keys())
outside_of_each = pytest.mark.parametrize("emit_with", OUTSIDE.values(), ids=OUTSIDE.keys())

HOSTILE = "'; DROP TABLE outbox; -- \" \\ \\' %s %(id)s %% $1 :id ::text {0} \n\t\x01\x7f é 😀 \u2028 \ufeff"
ALL = (
    "SELECT id, aggregatetype, aggregateid, type, payload, headers, correlation_id, scheduled_at"
    " FROM public.outbox ORDER BY id"
)


ODD_TABLE = '"Odd %(schema)s"."Order.Outbox ""%"'
ODD_TEXTS, ODD_DOCUMENTS = ("id", "aggregatetype", "key", "type"), ("payload", "headers")
ODD_ROLES = dict.fromkeys(ODD_TEXTS, "text") | dict.fromkeys(ODD_DOCUMENTS, "jsonb")
ODD_COLUMNS = {role: f'"{role} 100%s :x ""q"" \\ $1 é"' for role in ODD_ROLES}


@pytest.fixture
def odd_table(database: Database) -> Database:
    columns = ", ".join(f"{ODD_COLUMNS[role]} {kind}" for role, kind in ODD_ROLES.items())
    database.execute('CREATE SCHEMA "Odd %(schema)s"')
    database.execute(f'CREATE TABLE {ODD_TABLE} ({columns}, "Tenant:Id" text)')
    return database


@pytest.fixture
def outbox(database: Database) -> Database:
    create_table(database)
    return database


def one(**changed: Any) -> Event:
    given: dict[str, Any] = {"aggregatetype": "order", "key": "k", "type": "T", "payload": {"n": 1}}
    return Event(**given | changed)


@of_each_library
def test_an_event_is_written_as_it_was_given(outbox: Database, emit_with: Emit) -> None:
    at = datetime(2026, 1, 31, 8, 0, 0, 5, tzinfo=UTC)
    event = one(
        aggregatetype=HOSTILE,
        key=HOSTILE,
        type=HOSTILE,
        payload={HOSTILE: [HOSTILE, None, 1.5, 10**30]},
        headers={HOSTILE: HOSTILE},
        correlation_id=HOSTILE,
        scheduled_at=at,
    )
    emit_with(outbox, [event], Outbox(), False)
    assert outbox.execute(ALL) == [
        (event.id, HOSTILE, HOSTILE, HOSTILE, event.payload, event.headers, HOSTILE, at),
    ]


@of_each_library
def test_many_are_written_in_their_order_and_with_their_own_columns(outbox: Database, emit_with: Emit) -> None:
    more: list[dict[str, Any]] = [{}, {"correlation_id": "c"}, {"headers": {"h": "v"}}, {"payload": None}]
    events = [one(key=str(number), **more[number % 4]) for number in range(12)]
    emit_with(outbox, events, Outbox(), False)
    assert outbox.execute("SELECT id, aggregateid FROM outbox ORDER BY ctid") == [
        (each.id, each.key) for each in events
    ]
    assert [row[4:7] for row in outbox.execute(ALL)] == [
        (each.payload, each.headers, each.correlation_id) for each in events
    ]


@of_each_library
def test_what_rolls_back_was_never_emitted(outbox: Database, emit_with: Emit) -> None:
    with pytest.raises(RollBackError):
        emit_with(outbox, [one(), one()], Outbox(), True)
    assert outbox.execute(ALL) == []


@of_each_library
def test_rows_that_are_not_kept_leave_the_table_empty(outbox: Database, emit_with: Emit) -> None:
    outbox.execute("CREATE TABLE seen (id uuid)")
    outbox.execute("CREATE RULE see AS ON INSERT TO outbox DO ALSO INSERT INTO seen VALUES (NEW.id)")
    events = [one(), one(correlation_id="c")]
    emit_with(outbox, events, Outbox(keep=False), False)
    assert outbox.execute("SELECT id FROM seen ORDER BY id") == [(each.id,) for each in events]
    assert outbox.execute(ALL) == []


@of_each_library
def test_odd_names_of_table_and_columns_are_quoted_right(odd_table: Database, emit_with: Emit) -> None:
    kept, gone = one(headers={}, extra={'"Tenant:Id"': "acme"}), one()
    emit_with(odd_table, [kept], Outbox(table=ODD_TABLE, columns=ODD_COLUMNS), False)
    emit_with(odd_table, [gone], Outbox(table=ODD_TABLE, columns=ODD_COLUMNS, keep=False), False)
    assert odd_table.execute(f"SELECT * FROM {ODD_TABLE}") == [
        (str(kept.id), "order", "k", "T", {"n": 1}, {}, "acme"),
    ]


@outside_of_each
def test_outside_of_a_transaction_it_is_refused(outbox: Database, emit_with: Emit) -> None:
    with pytest.raises(TransactionError, match="no transaction is open"):
        emit_with(outbox, [one()], Outbox(), False)
    assert outbox.execute(ALL) == []


@outside_of_each
def test_outside_of_a_transaction_it_is_written_if_the_caller_says_so(outbox: Database, emit_with: Emit) -> None:
    emit_with(outbox, [one()], Outbox(require_transaction=False), False)
    assert len(outbox.execute(ALL)) == 1


def test_a_time_is_the_same_moment_in_a_column_without_a_zone(database: Database) -> None:
    create_table(database)
    database.execute("ALTER TABLE outbox ALTER scheduled_at TYPE timestamp")
    with psycopg.connect(database.dsn(options="-c timezone=Asia/Tokyo")) as conn:
        emit(conn, one(scheduled_at=datetime(2026, 1, 31, 8, 0, tzinfo=UTC)))
    assert database.execute("SELECT scheduled_at FROM outbox") == [(datetime(2026, 1, 31, 8, 0),)]


def test_a_table_of_texts_takes_the_same_event(database: Database) -> None:
    database.execute("CREATE TABLE outbox (id text, aggregatetype text, aggregateid text, type text, payload json)")
    with psycopg.connect(database.dsn()) as conn:
        event_id = emit(conn, one(payload='{"a":1.10,  "a":2}'))
    assert database.execute("SELECT id, payload::text FROM outbox") == [(str(event_id), '{"a":1.10,  "a":2}')]


def test_one_that_is_wrong_keeps_all_from_being_written_and_the_transaction_usable(outbox: Database) -> None:
    with psycopg.connect(outbox.dsn()) as conn:
        with pytest.raises(ValueError, match="key is missing or empty"):
            emit(conn, one(key=""))
        emit(conn, one())
    assert len(outbox.execute(ALL)) == 1


def test_a_role_that_may_only_insert_can_emit(outbox: Database) -> None:
    writer = outbox.create_role()
    outbox.execute(f"GRANT INSERT ON outbox TO {writer}")
    with psycopg.connect(outbox.dsn(writer)) as conn:
        emit(conn, one(correlation_id="c"))
    assert len(outbox.execute(ALL)) == 1


def test_the_wrong_function_for_a_connection_names_the_right_one(outbox: Database) -> None:
    async def mix_up() -> None:
        async with await psycopg.AsyncConnection.connect(outbox.dsn()) as conn:
            with pytest.raises(UnknownConnectionError, match="is asynchronous; await emit_async instead of emit"):
                emit(conn, one())  # type: ignore[arg-type]  # the mistake that is tested
        with psycopg.connect(outbox.dsn()) as sync, pytest.raises(UnknownConnectionError, match="for others call emit"):
            await emit_async(sync, one())  # type: ignore[arg-type]  # the mistake that is tested

    asyncio.run(mix_up())


def test_django_sees_the_statement_as_one_of_its_own(outbox: Database) -> None:
    """On a line that is open already, whose psycopg connection is in reach."""
    with django_database(outbox), transaction.atomic():
        connection.ensure_connection()
        with CaptureQueriesContext(connection) as queries:
            emit(connection, one())
    assert len(queries) == 1


def test_rows_as_named_tuples_are_no_trouble_for_messages(database: Database) -> None:
    """psycopg makes a field of every column of a result, also of one that nobody fetches."""
    with psycopg.connect(database.dsn(), row_factory=namedtuple_row) as conn:
        events = [one(), one()]
        assert emit_many(conn, events, outbox=Outbox(message_prefix="p")) == [each.id for each in events]


def test_a_cursor_of_django_is_taken_as_well(outbox: Database) -> None:
    with django_database(outbox), transaction.atomic(), connection.cursor() as cursor:
        emit(cursor, one())
    assert len(outbox.execute(ALL)) == 1
