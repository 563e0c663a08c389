"""Frames from libpq: one at a time through psycopg, or many at a time where the compiled reader is there.

Both give the newest first, so that a reader pops the oldest from the end.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Protocol

from psycopg import pq

from cdc_relay.native import is_native

__all__ = ["CopyData", "PsycopgCopyData", "open_copy_data"]


class CopyData(Protocol):
    is_over: bool  # the server ended the stream

    def read(self) -> list[bytes | memoryview]:
        """What was received and not read yet, the newest first; a psycopg.Error when the line is broken."""
        ...


class PsycopgCopyData:
    """A frame above `big_bytes` stays a view: copying 100 MB once more would cost 100 MB."""

    def __init__(self, pgconn: pq.abc.PGconn, *, big_bytes: int) -> None:
        self._get_copy_data = pgconn.get_copy_data
        self._big_bytes = big_bytes
        self.is_over = False

    def read(self) -> list[bytes | memoryview]:
        if self.is_over:
            return []  # asked once more, libpq has forgotten why: "no COPY in progress"
        size, data = self._get_copy_data(1)
        if size > 0:
            return [bytes(data) if size < self._big_bytes else data]
        self.is_over = size < 0
        return []


def open_copy_data(pgconn: pq.abc.PGconn, *, big_bytes: int) -> CopyData:
    library = _find_libpq() if is_native else None
    if library is None:
        return PsycopgCopyData(pgconn, big_bytes=big_bytes)
    from cdc_relay.native.copy_data import CopyData as NativeCopyData

    return NativeCopyData(
        pgconn,
        get_copy_data=_address_of(library.PQgetCopyData),
        free_memory=_address_of(library.PQfreemem),
        big_bytes=big_bytes,
    )


def _find_libpq() -> ctypes.CDLL | None:
    """The one that psycopg itself is linked with, through its own module; None where psycopg is not compiled."""
    try:
        library = ctypes.CDLL(str(sys.modules[pq.PGconn.__module__].__file__))
        return library if library.PQgetCopyData and library.PQfreemem else None
    except (AttributeError, KeyError, OSError):
        return None


def _address_of(function: object) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]  # a function pointer, says ctypes
