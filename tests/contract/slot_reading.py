"""Slots of a real server, read to their end through our decoder."""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any, TypeVar

import psycopg
from psycopg import pq

from cdc_relay.protocol.messages import LogicalMessage, Message
from cdc_relay.protocol.pgoutput import Decoder
from cdc_relay.protocol.wire import KEEPALIVE, PAYLOAD_OFFSET, XLOG_DATA, parse_keepalive, parse_xlog_header
from tests.fixtures.database import Database

__all__ = ["DEADLINE_SECONDS", "is_end", "mark_end", "only", "read_all", "reading", "replicated_from"]

Kind = TypeVar("Kind")

DEADLINE_SECONDS = 60


class SlotReader:
    """START_REPLICATION and our decoder, with nothing of the relay's source in between."""

    def __init__(self, database: Database, *, slot: str, version: int) -> None:
        memory = "-c logical_decoding_work_mem=64kB"
        dsn = database.dsn(replication="database", options=memory)
        self._conn = pq.PGconn.connect(dsn.encode())
        self._decoder, self._view_decoder = Decoder(version), Decoder(version)
        streaming = ", streaming 'on'" if version == 2 else ""
        options = f"proto_version '{version}', publication_names 'everything', messages 'true'{streaming}"
        result = self._conn.exec_(f"START_REPLICATION SLOT {slot} LOGICAL 0/0 ({options})".encode())
        assert result.status == pq.ExecStatus.COPY_BOTH, self._conn.error_message

    def close(self) -> None:
        self._conn.finish()

    def read_until(self, is_last: Callable[[Message], bool]) -> list[Message]:
        messages: list[Message] = []
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not (messages and is_last(messages[-1])):
            assert time.monotonic() < deadline, f"only {messages[-5:]} came"
            messages.extend(self._read_frame())
        return messages

    def _read_frame(self) -> Iterator[Message]:
        """At most one message, decoded from bytes and from the view, as the relay may do either."""
        size, view = self._conn.get_copy_data(1)
        if size == 0:
            select.select([self._conn.socket], [], [], 1)
            self._conn.consume_input()
            return
        assert size > 0, self._conn.error_message
        if view[0] == KEEPALIVE:
            assert parse_keepalive(view).send_time_us > 0
            return
        assert view[0] == XLOG_DATA
        assert parse_xlog_header(view) == parse_xlog_header(bytes(view))
        message = self._decoder.decode(bytes(view), PAYLOAD_OFFSET)
        assert self._view_decoder.decode(view, PAYLOAD_OFFSET) == message
        yield message


@contextmanager
def reading(database: Database, *, slot: str, version: int = 1) -> Iterator[SlotReader]:
    with closing(SlotReader(database, slot=slot, version=version)) as reader:
        yield reader


def mark_end(database: Database) -> None:
    database.execute("SELECT pg_logical_emit_message(true, 'end', '')")  # the commit flushes what is before it, too


def is_end(message: Message) -> bool:
    return isinstance(message, LogicalMessage) and message.prefix == "end"


def read_all(database: Database, slot: str, *, version: int = 1) -> list[Message]:
    mark_end(database)
    with reading(database, slot=slot, version=version) as reader:
        return reader.read_until(is_end)


def only(messages: list[Message], kind: type[Kind]) -> list[Kind]:
    return [message for message in messages if isinstance(message, kind)]


@contextmanager
def replicated_from(database: Database, name: str, *, lsn: str) -> Iterator[psycopg.Connection[Any]]:
    """A transaction that looks as if it came from another server; origins belong to the whole server, so clean up."""
    origin = f"{name}_{database.name}"
    database.execute("SELECT pg_replication_origin_create(%s)", [origin])
    try:
        with database.connect() as conn:
            conn.execute("SELECT pg_replication_origin_session_setup(%s)", [origin])
            with conn.transaction():
                conn.execute("SELECT pg_replication_origin_xact_setup(%s, now())", [lsn])
                yield conn
            conn.execute("SELECT pg_replication_origin_session_reset()")
    finally:
        database.execute("SELECT pg_replication_origin_drop(%s)", [origin])
