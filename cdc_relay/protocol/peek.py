"""The head of an Insert or a logical message, read without decoding the rest: what it is, not what it says."""

from __future__ import annotations

from typing import NamedTuple

from cdc_relay.protocol.cursor import Cursor

__all__ = ["MessageHead", "peek"]

_INSERT = ord("I")


class MessageHead(NamedTuple):
    transactional: bool
    lsn: int
    prefix: str


def peek(data: bytes | memoryview, offset: int) -> int | MessageHead:
    """The relation id of an Insert, or the head of a logical message; a DecodeError if it has none."""
    cursor = Cursor(data, offset, name="Insert")
    if cursor.uint8("a message type") == _INSERT:
        return cursor.uint32("the relation id")
    cursor.name = "Message"
    return MessageHead(cursor.bits(1, "the flags") == 1, cursor.uint64("the LSN"), cursor.string("the prefix"))
