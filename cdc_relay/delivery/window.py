"""How much may be open at once: the bound on memory. Pure counting; who waits for room is the caller's affair."""

from __future__ import annotations

from cdc_relay.errors import LedgerError

__all__ = ["Window"]


class Window:
    """Read while it is not full: one record larger than the whole window still passes, alone."""

    __slots__ = ("byte_count", "byte_limit", "record_count", "record_limit")

    def __init__(self, *, record_limit: int, byte_limit: int) -> None:
        self.record_limit = record_limit
        self.byte_limit = byte_limit
        self.record_count = 0
        self.byte_count = 0

    @property
    def is_full(self) -> bool:
        return self.record_count >= self.record_limit or self.byte_count >= self.byte_limit

    def take(self, size_bytes: int) -> None:
        self.record_count += 1
        self.byte_count += size_bytes

    def release(self, size_bytes: int) -> None:
        self.record_count -= 1
        self.byte_count -= size_bytes
        if self.record_count < 0 or self.byte_count < 0:
            raise LedgerError("more was released from the window than was taken")
