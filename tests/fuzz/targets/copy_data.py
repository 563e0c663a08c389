"""The two readers of libpq's frames, over a line that a script plays: the same frames, then the same end.

libpq itself is played: the compiled reader is given functions of ours in place of its own, which count what it frees.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import cast

import psycopg
from psycopg import pq

from cdc_relay.sources.copy_data import CopyData, PsycopgCopyData
from tests.fuzz.script import Script
from tests.unit.native_rig import NATIVE

__all__ = ["TOKENS", "check", "seeds"]

TOKENS = (b"\x01\x20", b"\xff\x04\x00", b"\x01\x00\x00", b"\xfe", b"\xfd")

BIG_BYTES = 64  # from which on a frame stays a view
NOTHING, OVER, BROKEN = 0, -1, -2  # what PQgetCopyData says where there is no frame
_SAYS = {0: NOTHING, 254: OVER, 253: BROKEN}

_libc = ctypes.CDLL(None)
_libc.malloc.restype, _libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
_libc.free.restype, _libc.free.argtypes = None, [ctypes.c_void_p]
_Get = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_int)
_Free = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

Event = bytes | int
Told = tuple[list[bytes], str]


class _Line:
    """A connection as far as the readers know one. After its end libpq says that there is no COPY."""

    pgconn_ptr = 1

    def __init__(self, events: list[Event]) -> None:
        self._events = iter(events)
        self._last: int | None = None

    def next(self) -> Event:
        if self._last is None:
            event = next(self._events, OVER)
            self._last = event if event in (OVER, BROKEN) else None
            return event
        return BROKEN

    def get_copy_data(self, is_async: int) -> tuple[int, memoryview]:
        """As psycopg's."""
        event = self.next()
        if event == BROKEN:
            raise psycopg.OperationalError("receiving copy data failed: no COPY in progress")
        return (len(event), memoryview(event)) if isinstance(event, bytes) else (event, memoryview(b""))

    def get_error_message(self) -> str:
        return "no COPY in progress"


class _Memory:
    """What libpq would have allocated, and what was given back of it."""

    def __init__(self, line: _Line) -> None:
        self._line = line
        self.used: set[int] = set()
        self.wrong: list[int] = []  # freed twice, or never given
        self.get, self.free = _Get(self._get), _Free(self._free)

    def _get(self, _connection: int, into: ctypes._Pointer[ctypes.c_void_p], _is_async: int) -> int:
        event = self._line.next()
        if isinstance(event, int):
            return event
        address = cast(int, _libc.malloc(len(event)))
        ctypes.memmove(address, event, len(event))
        self.used.add(address)
        into[0] = address
        return len(event)

    def _free(self, address: int) -> None:
        if address not in self.used:
            self.wrong.append(address)
            return
        self.used.remove(address)
        _libc.free(address)


def check(data: bytes) -> None:
    events = list(_read_events(Script(data)))
    line = cast("pq.abc.PGconn", _Line(events))
    told = _drain(PsycopgCopyData(line, big_bytes=BIG_BYTES), len(events))
    if NATIVE is not None:
        assert _drain_natively(events) == told


def _read_events(script: Script) -> Iterator[Event]:
    while not script.is_over:
        kind = script.byte()
        if kind in _SAYS:
            yield _SAYS[kind]
        elif frame := script.chunk():
            yield frame


def _drain_natively(events: list[Event]) -> Told:
    from cdc_relay.native.copy_data import CopyData as NativeCopyData

    line = _Line(events)
    memory = _Memory(line)
    get, free = (ctypes.cast(each, ctypes.c_void_p).value or 0 for each in (memory.get, memory.free))
    told = _drain(
        NativeCopyData(cast("pq.abc.PGconn", line), get_copy_data=get, free_memory=free, big_bytes=BIG_BYTES),
        len(events),
    )
    assert not memory.used
    assert not memory.wrong
    return told


def _drain(reader: CopyData, most: int) -> Told:
    found: list[bytes] = []
    for _ in range(most + 2):
        try:
            frames = reader.read()
        except psycopg.OperationalError as exc:
            return found, str(exc)
        assert all(isinstance(frame, bytes) == (len(frame) < BIG_BYTES) for frame in frames)
        found += [bytes(frame) for frame in reversed(frames)]
        if reader.is_over:
            assert reader.read() == []
            return found, "over"
    raise AssertionError("the line has no end")


def seeds() -> Iterator[bytes]:
    frame = b"\x01\x05frame"
    yield frame * 3 + b"\xfe"
    yield frame + b"\0" + frame + b"\xfd" + frame
    yield b"\x01\x40" + b"x" * 64 + frame + b"\xfe"
    yield b"\x01\xff\x01\x00" + b"y" * 256 + b"\0\0"
    yield b"\x01\x01a" * 300
