"""Mutants that no test can notice, or need not, each with the reason. Data only: docs/mutation.md shows it."""

from __future__ import annotations

__all__ = ["SURVIVORS"]

_ONE = "a tuple of one: the last is the first"
_ASCII = "no letter that is allowed is beyond ASCII: the comparison only spares the look"
_END = "an end is -1, or behind the two bytes of the count"
_CHUNK = "how much is searched at once changes the time, not what is found"
_AGAIN = "one more look, at no more bytes, and the same refusal"
_NO_KIND = "X is no kind of message: it was refused before"
_EQUAL = "an equal one in its place"
_UNSEEN = "an idle position is settled as it enters: nobody sees its transaction"
_SHORTCUT = "a shortcut: what is called asks for all of it again"
_EMPTY = "of an empty lot: it is passed from the beginning, and never asked"
_COMPILED = "the compiled twin's way, switched off here; the tests of the twins run it"

_SETTLE = "Ledger.settle: not transaction.open_count and transaction.end_lsn and (transaction is self._queue[0]) -> "
_LANE = "Lane(intake, take_any, plans=plans, parked=parked)"
_PARKED = "not self._parked.is_passed and self._parked.has(plan.origin.label, transaction, ordinal)"

# module -> name of the mutant -> why it may live
SURVIVORS: dict[str, dict[str, str]] = {
    "cdc_relay.delivery.failures": {
        "module: '' -> 'XXXX'": "the row of unknown codes is found by no code",
    },
    "cdc_relay.delivery.intake": {
        "Intake.take_any: len(frame) > self.largest_frame_bytes -> len(frame) >= self.largest_frame_bytes": _EQUAL,
        f"Intake._take_row: {_PARKED} -> {_PARKED.partition(' and ')[2]}": _SHORTCUT,
    },
    "cdc_relay.delivery.ledger": {
        "Ledger.receive: lsn > self.received_lsn -> lsn >= self.received_lsn": _EQUAL,
        "Ledger.idle: 0 -> 1": _UNSEEN,
        "Ledger.idle: 0 -> -1": _UNSEEN,
        "Ledger.idle: 0 -> 1 #2": _UNSEEN,
        "Ledger.idle: 0 -> -1 #2": _UNSEEN,
        f"{_SETTLE}not transaction.open_count or transaction.end_lsn or transaction is self._queue[0]": _SHORTCUT,
        f"{_SETTLE}transaction.end_lsn and transaction is self._queue[0]": _SHORTCUT,
        f"{_SETTLE}not transaction.open_count and transaction is self._queue[0]": _SHORTCUT,
        f"{_SETTLE}not transaction.open_count and transaction.end_lsn": _SHORTCUT,
    },
    "cdc_relay.delivery.parked": {
        "Parked.__init__: 0 -> 1": _EMPTY,
        "Parked.__init__: 0 -> -1": _EMPTY,
        "Parked.__init__: 0 -> 1 #2": _EMPTY,
        "Parked.__init__: 0 -> -1 #2": _EMPTY,
    },
    "cdc_relay.delivery.twins": {
        "make_ledger: return Ledger(ceiling_lsn=ceiling_lsn) -> return None": _COMPILED,
        "make_take: return Lane(intake, take_any, plans=plans, parked=parked).take -> return None": _COMPILED,
        f"make_take: {_LANE} -> {_LANE.replace('intake, take_any', 'take_any, intake')}": _COMPILED,
        "settle_all: return settle_all_natively(tickets, book, room) -> return None": _COMPILED,
        "settle_all: settle_all_natively(tickets, book, room) -> settle_all_natively(book, tickets, room)": _COMPILED,
        "settle_all: settle_all_natively(tickets, book, room) -> settle_all_natively(tickets, room, book)": _COMPILED,
        "module: TYPE_CHECKING or not is_native -> not is_native": "TYPE_CHECKING is never true in a run",
    },
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
        "Cursor._until_nul: size >= self.left -> size > self.left": _AGAIN,
        "Cursor._until_nul: 8 -> 9": _CHUNK,
        "Cursor._until_nul: 8 -> 7": _CHUNK,
        "module: 256 -> 257": _CHUNK,
        "module: 256 -> 255": _CHUNK,
    },
    "cdc_relay.protocol.messages": {
        "Unchanged: 'unchanged' -> 'XXunchangedXX'": "nobody reads the value of this enum: it is compared by identity",
    },
    "cdc_relay.protocol.pgoutput": {
        "Decoder._decode_any: 'RYIUDTM' -> 'XXRYIUDTMXX'": _NO_KIND,
        "Decoder._decode_any: 'SE' -> 'XXSEXX'": _NO_KIND,
        "Decoder._check_place: 'SEcA' -> 'XXSEcAXX'": _NO_KIND,
        "Decoder._check_place: 'BCScA' -> 'XXBCScAXX'": _NO_KIND,
        "decode_row: end < 0 -> end <= 0": _END,
        "decode_row: 0 -> 1": _END,
        "_scan: 8 -> 7": "no regular message has seven bytes: it goes the careful way all the same",
    },
    "cdc_relay.protocol.rows": {
        "scan_row: 0 -> -1": _ONE,
        "scan_row: 0 -> -1 #2": _ONE,
    },
}
