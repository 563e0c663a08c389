"""Mutants that no test can notice, or need not, each with the reason. Data only: docs/mutation.md shows it."""

from __future__ import annotations

__all__ = ["SURVIVORS"]

_ONE = "a tuple of one: the last is the first"
_ASCII = "no letter that is allowed is beyond ASCII: the comparison only spares the look"
_END = "an end is -1, or behind the two bytes of the count"
_CHUNK = "how much is searched at once changes the time, not what is found"
_NO_KIND = "X is no kind of message: it was refused before"

# module -> name of the mutant -> why it may live
SURVIVORS: dict[str, dict[str, str]] = {
    "cdc_relay.protocol.cursor": {
        "Cursor.int32: 0 -> -1": _ONE,
        "Cursor.int64: 0 -> -1": _ONE,
        "Cursor.one_of: found < 128 and chr(found) in allowed -> chr(found) in allowed": _ASCII,
        "Cursor.one_of: found < 128 -> found <= 128": _ASCII,
        "Cursor.one_of: 128 -> 129": _ASCII,
        "Cursor.one_of: 128 -> 127": _ASCII,
        "Cursor.row: end < 0 -> end <= 0": _END,
        "Cursor.row: 0 -> 1": _END,
        "Cursor._until_nul: [self.position:self.position + size] -> [self.position:]": _CHUNK,
        "Cursor._until_nul: size >= self.left -> size > self.left": "one more look, at no more bytes, and the same refusal",
        "Cursor._until_nul: 8 -> 9": _CHUNK,
        "Cursor._until_nul: 8 -> 7": _CHUNK,
        "module: 256 -> 257": _CHUNK,
        "module: 256 -> 255": _CHUNK,
    },
    "cdc_relay.protocol.messages": {
        "Unchanged: 'unchanged' -> 'XXunchangedXX'": "nobody reads the value of this enum; it is compared by identity",
    },
}
