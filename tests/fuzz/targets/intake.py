"""Streams of frames through both intakes, the compiled one and Python's: the same outcome, state and error each time.

Whatever is refused is a DecodeError or, where the bookkeeping would have lied, a LedgerError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.fuzz.script import Script
from tests.unit import frames
from tests.unit.intake_rig import ROW
from tests.unit.native_frames import COLUMNS, MESSAGES, NINE, OUTBOXES, Step
from tests.unit.native_pair import Pair
from tests.unit.native_stream import PARKED, Stream

__all__ = ["TOKENS", "check", "seeds"]

TOKENS = (
    b"\x05\x02e1",
    b"order",
    b"Drop",
    b"Strict",
    b'{"n": 1}',
    b"\\x6162",
    b"w" + bytes(24),
    b"t\0\0\0\x01",
    b"\xff\0",
)

_NAMES = sorted(OUTBOXES)
_TABLES = ("outbox", "outbox", "other", "audit")
_OIDS = (25, 25, 17, 3802)
_COLUMNS = (frames.OUTBOX_COLUMNS, COLUMNS, (*frames.OUTBOX_COLUMNS, *NINE), COLUMNS[::-1], COLUMNS[:6], ())
_OTHERS = "UDTOYSEb"
_BY = (1, 1, 7, 100, 0, -3, 1 << 40)
_TIMES = (0, 1, 999, -1, -(1 << 62), 1 << 61, 10**15 + 1, 6_400_000_000 * 10**9)
_DAMAGE = 8  # kinds of steps from here on are spoiled on their way


def check(data: bytes) -> None:
    script = Script(data)
    name, is_parked = script.pick(_NAMES), script.byte() & 1
    stream = Stream(Pair([OUTBOXES[name], MESSAGES], PARKED if is_parked else frozenset()))
    while not script.is_over:
        kind = script.byte()
        step = _STEPS[kind % len(_STEPS)](script)
        stream.play(step, _read_damage(script) if kind >> 4 == _DAMAGE and step[0] not in _UNSPOILT else None)


def _read_damage(script: Script) -> Step:
    match script.byte() & 3:
        case 0:
            return ("cut", script.byte())
        case 1:
            return ("append", script.chunk() or b"\0")
        case 2:
            return ("set", script.byte(), script.byte())
        case _:
            return ("view",)


def _read_row(script: Script) -> list[bytes | str | None]:
    return [_read_value(script) for _ in range(script.byte() % 20)]


def _read_value(script: Script) -> bytes | str | None:
    match script.byte() & 15:
        case 0:
            return None
        case 1:
            return script.pick("ubx")
        case 2:
            return ROW[script.byte() % len(ROW)]
        case _:
            return script.chunk()


def _sound_row(script: Script) -> list[bytes | str | None]:
    """As the outbox has it, but for one value; chance would not find a row of the right length often enough."""
    row: list[bytes | str | None] = [*ROW, *([None] * (script.byte() % 4))]
    row[script.byte() % len(row)] = _read_value(script)
    return row


_STEPS: tuple[Callable[[Script], Step], ...] = (
    lambda script: ("insert", 1, _sound_row(script)),
    lambda script: ("insert", 1 + script.byte() % 3, _read_row(script)),
    lambda script: ("turn", script.pick(_TIMES), script.byte()),
    lambda script: ("relation", 1, "outbox", script.pick(_COLUMNS), script.pick(_OIDS)),
    lambda script: (
        ("relation", 1 + script.byte() % 3, script.pick(_TABLES), script.pick(_COLUMNS), script.pick(_OIDS))
    ),
    lambda script: ("raw", script.chunk()),
    lambda script: ("raw", frames.xlog(script.chunk(), lsn=script.byte())),
    lambda script: ("begin", script.pick(_BY), script.pick(_TIMES), script.byte()),
    lambda script: ("commit", script.pick(_BY), script.pick(_TIMES), script.byte() & 1),
    lambda script: ("keepalive", script.pick(_BY), script.byte() & 1 == 1),
    lambda script: ("message", script.chunk(), script.byte() & 1 == 1),
    lambda script: ("other", script.pick(_OTHERS), 1 + script.byte() % 3),
    lambda script: ("settle", script.byte()),
    lambda script: ("settle_all", script.byte()),
    lambda _: ("idle",),
    lambda script: ("condemn", _read_row(script)) if script.byte() & 1 else ("report",),
)
_UNSPOILT = ("raw", "settle", "settle_all", "idle", "condemn", "report")


def seeds() -> Iterator[bytes]:
    """A short life of each outbox: described, three rows, an end, and what is done about them."""
    turn, described, row = b"\x02\0\x07", b"\x03\x01\0", b"\x00\x03\x07\x03\x02k2"
    for place in range(len(_NAMES)):
        opened = bytes([place, 0]) + turn + described + row * 3 + b'\x0a\x04{"a"\x01'
        yield opened + turn + b"\x0c\0\x0d\x09\x09\x01\x01\x0e\x0f\0"
        yield bytes([place, 1]) + opened[2:] + b"\x80\x03\x07\x03\x02k2\x02\x0a\x41" + turn
    yield b"\0\0" + b"\x06\x0aI\0\0\0\x01N\0\x01n" + b"\x05\x12" + frames.keepalive(9)
