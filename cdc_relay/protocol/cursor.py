"""A position in one message that reads the protocol's types, and says what was expected where when it cannot.

Owns the wording of every "expected ..., found ..."; knows nothing about message types. Offsets in errors count from
the message's first byte, as the protocol's documentation does.
"""

from __future__ import annotations

from struct import Struct
from typing import NoReturn

from cdc_relay.errors import DecodeError
from cdc_relay.protocol.messages import Row
from cdc_relay.protocol.rows import COLUMN_BINARY, COLUMN_NULL, COLUMN_TEXT, COLUMN_UNCHANGED, scan_row

__all__ = ["Cursor"]

_INT32 = Struct(">i")
_INT64 = Struct(">q")
_NAME_CHUNK = 256  # names are shorter than this almost always


class Cursor:
    __slots__ = ("_data", "_origin", "name", "position")

    def __init__(self, data: bytes | memoryview, offset: int, *, name: str) -> None:
        self._data = data
        self._origin = offset
        self.position = offset
        self.name = name

    @property
    def left(self) -> int:
        return max(0, len(self._data) - self.position)

    def uint8(self, what: str) -> int:
        return self._data[self._advance(1, what)]

    def uint16(self, what: str) -> int:
        return self._unsigned(2, what)

    def uint32(self, what: str) -> int:
        return self._unsigned(4, what)

    def uint64(self, what: str) -> int:
        return self._unsigned(8, what)

    def int32(self, what: str) -> int:
        number: int = _INT32.unpack_from(self._data, self._advance(4, what))[0]
        return number

    def int64(self, what: str) -> int:
        number: int = _INT64.unpack_from(self._data, self._advance(8, what))[0]
        return number

    def one_of(self, allowed: str, what: str) -> str:
        found = self.uint8(what)
        if found < 0x80 and chr(found) in allowed:
            return chr(found)
        raise self.error(f"{what} {' or '.join(map(repr, allowed))}", f"{found:#04x}", back=1)

    def bits(self, highest: int, what: str) -> int:
        found = self.uint8(what)
        if found > highest:
            raise self.error(f"{what} from 0 to {highest}", f"{found:#04x}", back=1)
        return found

    def string(self, what: str) -> str:
        start = self.position
        raw = self._until_nul(what)
        try:
            return raw.decode()
        except UnicodeDecodeError as exc:
            self.position = start
            raise self.error(what, "bytes that are not UTF-8") from exc

    def counted_bytes(self, what: str) -> bytes:
        start = self._counted(what)
        return bytes(self._data[start : self.position])

    def row(self) -> Row:
        row, end = scan_row(self._data, self.position)
        if end < 0:
            self._refuse_row()
        self.position = end
        return row

    def finish(self) -> None:
        if self.left:
            raise self.error("the end of the message", f"{self.left} more bytes")

    def error(self, expected: str, found: str, *, back: int = 0, remedy: str = "") -> DecodeError:
        at = self.position - back - self._origin
        return DecodeError(f"{self.name}: at byte {at} expected {expected}, found {found}", remedy=remedy)

    def _advance(self, size: int, what: str) -> int:
        if size > self.left:
            raise self.error(f"{what} ({size} bytes)", f"{self.left} bytes left")
        start = self.position
        self.position += size
        return start

    def _unsigned(self, size: int, what: str) -> int:
        start = self._advance(size, what)
        return int.from_bytes(self._data[start : self.position])

    def _until_nul(self, what: str) -> bytes:
        size = _NAME_CHUNK
        while (length := bytes(self._data[self.position : self.position + size]).find(0)) < 0:
            if size >= self.left:
                raise self.error(f"{what} ending in a zero byte", f"none in the {self.left} bytes left")
            size *= 8
        start = self._advance(length + 1, what)
        return bytes(self._data[start : start + length])

    def _counted(self, what: str) -> int:
        size = self.int32(f"the length of {what}")
        if not 0 <= size <= self.left:
            raise self.error(f"the length of {what} from 0 to {self.left}", str(size), back=4)
        return self._advance(size, what)

    def _refuse_row(self) -> NoReturn:
        """Walk the row that scan_row found irregular slowly, to name the first thing wrong with it."""
        column_count = self.uint16("the column count")
        for number in range(1, column_count + 1):
            self._walk_column(f"column {number} of {column_count}")
        raise self.error("a row that scan_row accepts", "one that it refuses: a defect of the decoder")

    def _walk_column(self, column: str) -> None:
        kind = self.uint8(f"the kind of {column}")
        if kind == COLUMN_TEXT:
            self._counted(column)
        elif kind == COLUMN_BINARY:
            remedy = "start the replication without the option binary"
            raise self.error(f"{column} as text", "'b': binary was not asked for", back=1, remedy=remedy)
        elif kind not in (COLUMN_NULL, COLUMN_UNCHANGED):
            raise self.error(f"the kind of {column}: 't', 'n' or 'u'", f"{kind:#04x}", back=1)
