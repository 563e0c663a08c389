"""Steps of a stream, played to both twins: as frames that are possible mostly, and as what damage makes of them."""

from __future__ import annotations

from collections.abc import Callable
from struct import pack
from typing import cast

from cdc_relay.delivery.failures import CRASH, judge
from cdc_relay.errors import RelayError
from cdc_relay.model import Identity
from tests.unit import frames
from tests.unit.native_frames import Step, raw_insert
from tests.unit.native_pair import Pair

__all__ = ["EPOCH_US", "PARKED", "Stream"]

EPOCH_US = frames.EPOCH_US
PARKED: frozenset[Identity] = frozenset({("public.outbox", 101, 1, EPOCH_US), ("public.outbox", 102, 0, EPOCH_US)})
HEADER = 25  # of a frame; behind it is the message
OTHERS: dict[str, Callable[[int], bytes]] = {
    "U": lambda relation: b"U" + pack(">IBH", relation, ord("N"), 0),
    "D": lambda relation: b"D" + pack(">IBH", relation, ord("K"), 0),
    "T": lambda relation: b"T" + pack(">IBI", 1, 0, relation),
    "O": lambda _: b"O" + pack(">Q", 7) + b"origin\0",
    "Y": lambda relation: b"Y" + pack(">I", relation) + b"public\0domain\0",
    "S": lambda relation: b"S" + pack(">IB", relation, 1),
    "E": lambda _: b"E",
    "b": lambda _: b"b" + bytes(40),
}


class Stream:
    """Turns steps into frames; knows the position, so that most of what it sends is possible."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self._lsn = 100

    def play(self, step: Step, damage: Step | None) -> None:
        match step:
            case ("settle", int(place)) if self.pair.open:
                self.pair.settle(place % len(self.pair.open))
            case ("settle_all", int(count)):
                self.pair.settle_all(count)
            case ("idle",):
                self.pair.confirm_idle()
            case ("report",):
                self.pair.report()
            case ("condemn", row):
                self.pair.condemn(raw_insert(1, cast("list[bytes | str | None]", row)), judge(CRASH, "three deaths"))
            case ("settle", _):
                pass
            case _:
                frame = _spoil(self._frame(step), damage)
                if is_beyond_64_bits(frame):
                    return
                self.pair.identify(frame)
                told = self.pair.take(frame)
                assert told is not None
                assert told[0] == "did" or issubclass(cast("type[Exception]", told[1]), RelayError), told

    def _frame(self, step: Step) -> bytes:
        match step:
            case ("turn", int(time), int(xid)):
                is_open = self.pair.python.ledger.in_transaction
                return self._commit(1, time, 0) if is_open else self._begin(1, time, xid)
            case ("begin", int(by), int(time), int(xid)):
                return self._begin(by, time, xid)
            case ("commit", int(by), int(time), int(flags)):
                return self._commit(by, time, flags)
            case ("insert", int(relation), row):
                return raw_insert(relation, cast("list[bytes | str | None]", row))
            case ("relation", int(relation), str(name), columns, int(oid)):
                return frames.relation(relation, name=name, columns=cast("tuple[str, ...]", columns), type_oid=oid)
            case ("keepalive", int(by), bool(reply)):
                return frames.keepalive(self._move(by), reply=reply)
            case ("message", bytes(content), bool(transactional)):
                return frames.message(content, lsn=self._move(1), transactional=transactional)
            case ("other", str(kind), int(relation)):
                return frames.xlog(OTHERS[kind](relation), lsn=self._lsn)
            case ("raw", bytes(frame)):
                return frame
        raise AssertionError(step)

    def _begin(self, by: int, time: int, xid: int) -> bytes:
        return frames.xlog(b"B" + pack(">QqI", self._move(by), time, xid), lsn=self._lsn, sent_us=EPOCH_US + 5)

    def _commit(self, by: int, time: int, flags: int) -> bytes:
        end_lsn = self._move(by)
        body = b"C" + pack(">BQQq", flags, end_lsn - 1, end_lsn, time)
        return frames.xlog(body, lsn=end_lsn, sent_us=EPOCH_US + 9)

    def _move(self, by: int) -> int:
        self._lsn = max(2, self._lsn + by)
        return self._lsn


def is_beyond_64_bits(frame: bytes | memoryview) -> bool:
    """What the twins are known to differ in, and Postgres never sends: see test_native_numbers.py."""
    message = bytes(frame[HEADER:])
    if message[:1] == b"B" and len(message) >= 17:
        return int.from_bytes(message[9:17], signed=True) + EPOCH_US >= 1 << 63
    return message[:2] == b"M\0" and message[2:10] == bytes(8)


def _spoil(frame: bytes, damage: Step | None) -> bytes | memoryview:
    match damage:
        case ("cut", int(count)):
            return frame[: max(0, len(frame) - count)]
        case ("append", bytes(more)):
            return frame + more
        case ("set", int(place), int(value)):
            return frame[: place % len(frame)] + bytes([value]) + frame[place % len(frame) + 1 :]
        case ("view",):
            return memoryview(frame)
    return frame
