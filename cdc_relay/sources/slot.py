"""The replication stream of one slot: frames out, status updates in. Non-blocking after the start.

Owns START_REPLICATION and the session's pinned settings; knows nothing of what the frames mean.
"""

from __future__ import annotations

import re
import select
import time

from psycopg import Error as PsycopgError
from psycopg import pq

from cdc_relay.bell import Bell
from cdc_relay.errors import RefusedError, RelayError, SlotInUseError, SourceError
from cdc_relay.protocol import wire
from cdc_relay.sources.copy_data import open_copy_data
from cdc_relay.sources.knock import Place
from cdc_relay.sources.line import Line, QueryError
from cdc_relay.sources.receive_buffer import bound_receive_buffer
from cdc_relay.stop import Stop

__all__ = ["SlotStream", "pinned_settings", "start_stream"]

# Values must read the same whatever the role, the database or the server prefer.
PINNED_SETTINGS = {
    "datestyle": "ISO",
    "timezone": "UTC",
    "intervalstyle": "postgres",
    "bytea_output": "hex",
    "extra_float_digits": "3",
    "client_encoding": "UTF8",
    "xmloption": "content",
    "lc_monetary": "C",
}
_BIG_FRAME_BYTES = 1 << 20  # above this a frame stays a view: copying 100 MB once more would cost 100 MB
_LOOKS = 64  # for a frame in parts of some 16 kB: a very large one must not keep the loop from its clocks
_UNDECODABLE_REMEDY = (
    "the publication was dropped while the slot was behind it: drop the slot and make both anew,"
    " cdc-relay setup -c FILE; then cdc-relay run -c FILE says what is missing, and the commands that publish it"
)
_NOT_UTF_8 = (b"22021", b"22P05")
_NOT_UTF_8_REMEDY = (
    "a value has bytes that the database's encoding cannot translate, and the stream cannot pass it: find the row,"
    " correct it, move the slot behind its transaction with pg_replication_slot_advance; then cdc-relay run -c FILE"
    " says what was passed over, and the commands that publish it"
)
_IN_USE, _NO_SUCH_OBJECT, _NOT_IN_STATE, _NO_RIGHT = "55006", "42704", "55000", "42501"

_MESSAGES = ", messages 'true'"  # every logical message of the database comes, whatever its prefix


class SlotStream:
    """A started stream. Every method returns at once, but for `wait`.

    `is_receiving`: bytes had arrived when `read` last looked, perhaps not yet a whole frame: 100 MB take their time.
    """

    def __init__(self, line: Line) -> None:
        self._line = line
        self._pgconn = line.pgconn
        self._copy_data = open_copy_data(line.pgconn, big_bytes=_BIG_FRAME_BYTES)
        self._frames: list[bytes | memoryview] = []  # received, the oldest at the end
        self._socket_poll = select.poll()
        self._socket_poll.register(line.fileno(), select.POLLIN)
        bound_receive_buffer(line.fileno())
        self.is_receiving = False

    @property
    def backend_pid(self) -> int:
        return self._line.backend_pid

    @property
    def place(self) -> Place:
        return self._line.place

    def fileno(self) -> int:
        return self._line.fileno()

    def read(self) -> bytes | memoryview | None:
        """The next frame; None when the socket has nothing more for now."""
        if not self._frames:
            self._frames = self._receive()
        return self._frames.pop() if self._frames else None

    def _receive(self) -> list[bytes | memoryview]:
        try:
            frames = self._copy_data.read()
            if not frames and not self._copy_data.is_over:
                frames = self._receive_parts()
        except PsycopgError as exc:
            raise SourceError(f"the replication line broke: {' '.join(str(exc).split())}") from exc
        if not frames and self._copy_data.is_over:
            raise self._ending()
        return frames

    def _receive_parts(self) -> list[bytes | memoryview]:
        """A frame that has begun is read on for as long as bytes are there: with a nap at the end of each part, rows of
        10 kB came at a quarter of the rate. What TLS holds back is taken in, too, though the socket looks empty."""
        self.is_receiving = False
        for _ in range(_LOOKS):
            has_arrived = bool(self._socket_poll.poll(0))
            self._pgconn.consume_input()
            self.is_receiving |= has_arrived
            frames = self._copy_data.read()
            if frames or self._copy_data.is_over or not has_arrived:
                return frames
        return []

    def send_status(self, *, write_lsn: int, flush_lsn: int, reply_requested: bool = False) -> None:
        """Queued if the socket is full: a stalled line must not stop the loop."""
        if self._copy_data.is_over:  # and frames before the end are still to be taken: they come again
            raise self._ending()
        now_us = time.time_ns() // 1000
        update = wire.encode_status(
            write_lsn=write_lsn,
            flush_lsn=flush_lsn,
            apply_lsn=flush_lsn,
            time_us=now_us,
            reply_requested=reply_requested,
        )
        try:
            self._pgconn.put_copy_data(update)
            self._pgconn.flush()
        except PsycopgError as exc:
            raise SourceError(f"the replication line broke: {' '.join(str(exc).split())}") from exc

    def wait(self, timeout_seconds: float, *others: Stop | Bell) -> None:
        """Until there is something to read, or one of the others has something to say, or the time is over."""
        select.select([self._pgconn.socket, *others], [], [], 0 if self._frames else timeout_seconds)

    def close(self) -> None:
        self._frames = []
        self._line.close()

    def _ending(self) -> RelayError:
        result = self._pgconn.get_result()
        text = result.get_error_message() if result is not None else self._pgconn.get_error_message()
        reason = " ".join(text.split()) or "no reason given"
        sqlstate = None if result is None else result.error_field(pq.DiagnosticField.SQLSTATE)
        if sqlstate in _NOT_UTF_8:
            return RefusedError(f"Postgres cannot send a row as UTF-8: {reason}", remedy=_NOT_UTF_8_REMEDY)
        if sqlstate == _NO_SUCH_OBJECT.encode():
            # Before 18 a publication dropped at some LSN cannot be decoded past it, even if it exists again.
            return RefusedError(f"Postgres cannot decode further: {reason}", remedy=_UNDECODABLE_REMEDY)
        return SourceError(f"Postgres ended the stream: {reason}")


def start_stream(
    conninfo: str, *, slot: str, publication: str, wal_sender_timeout_seconds: float, messages: bool = False
) -> SlotStream:
    """Blocks within limits: for the helper thread. The slot is the only cursor, hence LOGICAL 0/0."""
    line = Line.open(conninfo)
    try:
        line.require_primary()
        settings = pinned_settings(line) | {"wal_sender_timeout": f"{int(wal_sender_timeout_seconds * 1000)}ms"}
        line.query("".join(f"SET {name} = '{value}';" for name, value in settings.items()))
        line.start_copy(
            f"START_REPLICATION SLOT {slot} LOGICAL 0/0"
            f" (proto_version '1', publication_names {_literal(_identifier(publication))}{_MESSAGES * messages})"
        )
    except QueryError as exc:
        line.close()
        raise _translate(exc, slot) from exc
    except BaseException:
        line.close()
        raise
    return SlotStream(line)


def pinned_settings(line: Line) -> dict[str, str]:
    """A database in SQL_ASCII may hold any bytes: asked for UTF-8, Postgres would end the stream at them."""
    return PINNED_SETTINGS | ({"client_encoding": "SQL_ASCII"} if line.server_encoding == "SQL_ASCII" else {})


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _translate(exc: QueryError, slot: str) -> RelayError:
    if exc.sqlstate == _IN_USE:
        return SlotInUseError(f"slot {slot} is in use: {exc.message}", remedy=_in_use_remedy(exc.message))
    if exc.sqlstate == _NO_SUCH_OBJECT:
        return RefusedError(f"slot {slot}: {exc.message}", remedy="create it: cdc-relay setup -c FILE")
    if exc.sqlstate == _NOT_IN_STATE:
        return RefusedError(f"slot {slot} cannot be read: {exc.message}", remedy=_lost_remedy(slot))
    if exc.sqlstate == _NO_RIGHT:
        return RefusedError(f"slot {slot}: {exc.message}", remedy="ALTER ROLE <the role of source.dsn> REPLICATION")
    return SourceError(f"slot {slot}: {exc.message}")


def _in_use_remedy(message: str) -> str:
    pid = re.search(r"PID (\d+)", message)
    who = (
        f"SELECT * FROM pg_stat_replication WHERE pid = {pid.group(1)}" if pid else "SELECT * FROM pg_stat_replication"
    )
    return f"see who reads it: {who}"


def _lost_remedy(slot: str) -> str:
    return (
        f"see SELECT wal_status FROM pg_replication_slots WHERE slot_name = '{slot}'; if it is lost,"
        " cdc-relay run -c FILE says what is missing, and the commands that publish it"
    )
