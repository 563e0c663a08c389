"""The SDK in psycopg's pipelines: with autocommit a transaction is asked for there too, and is seen if there is one."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from cdc_relay.outbox import Event, Outbox, TransactionError, emit, emit_async
from tests.fixtures.database import Database
from tests.integration.producer_rig import create_table

COUNT = "SELECT count(*) FROM outbox"


@pytest.fixture
def outbox(database: Database) -> Database:
    create_table(database)
    return database


def one() -> Event:
    return Event(aggregatetype="order", key="k", type="T", payload={})


def test_autocommit_in_a_pipeline_without_a_transaction_is_refused(outbox: Database) -> None:
    """With nothing on its way, and behind a statement whose answer is not there yet."""
    with psycopg.connect(outbox.dsn(), autocommit=True) as conn, conn.pipeline():
        with pytest.raises(TransactionError, match="no transaction is open"):
            emit(conn, one())
        conn.execute("SELECT 1")
        with pytest.raises(TransactionError, match="no transaction is open"):
            emit(conn, one())
    assert outbox.execute(COUNT) == [(0,)]


def test_autocommit_in_an_asynchronous_pipeline_without_a_transaction_is_refused(outbox: Database) -> None:
    async def emit_behind_a_statement() -> None:
        async with await psycopg.AsyncConnection.connect(outbox.dsn(), autocommit=True) as conn, conn.pipeline():
            await conn.execute("SELECT 1")
            await emit_async(conn, one())

    with pytest.raises(TransactionError, match="no transaction is open"):
        asyncio.run(emit_behind_a_statement())
    assert outbox.execute(COUNT) == [(0,)]


def test_a_transaction_inside_of_the_pipeline_is_seen(outbox: Database) -> None:
    with psycopg.connect(outbox.dsn(), autocommit=True) as conn, conn.pipeline(), conn.transaction():
        emit(conn, one())
        conn.execute("SELECT 1")
        emit(conn, one())
    assert outbox.execute(COUNT) == [(2,)]


def test_a_transaction_around_the_pipeline_is_seen(outbox: Database) -> None:
    with psycopg.connect(outbox.dsn(), autocommit=True) as conn, conn.transaction(), conn.pipeline():
        conn.execute("SELECT 1")
        emit(conn, one())
    assert outbox.execute(COUNT) == [(1,)]


def test_without_autocommit_a_pipeline_is_in_a_transaction(outbox: Database) -> None:
    with psycopg.connect(outbox.dsn()) as conn:
        with conn.pipeline():
            conn.execute("SELECT 1")
            emit(conn, one())
        conn.rollback()
    assert outbox.execute(COUNT) == [(0,)]


def test_a_begin_that_is_still_on_its_way_is_not_seen(outbox: Database) -> None:
    with psycopg.connect(outbox.dsn(), autocommit=True) as conn, conn.pipeline() as pipeline:
        conn.execute("BEGIN")
        with pytest.raises(TransactionError, match="no transaction is open"):
            emit(conn, one())
        pipeline.sync()
        emit(conn, one())
        conn.execute("COMMIT")
    assert outbox.execute(COUNT) == [(1,)]


def test_an_event_of_its_own_may_be_in_a_pipeline_if_the_caller_says_so(outbox: Database) -> None:
    with psycopg.connect(outbox.dsn(), autocommit=True) as conn, conn.pipeline():
        conn.execute("SELECT 1")
        emit(conn, one(), outbox=Outbox(require_transaction=False))
    assert outbox.execute(COUNT) == [(1,)]
