"""Nanoseconds that the decoder takes per message, the best of several runs: `python -m tests.bench.bench_decoder`."""

from __future__ import annotations

import timeit
from collections.abc import Callable
from struct import pack

from cdc_relay.protocol.pgoutput import Decoder, decode_row
from cdc_relay.protocol.wire import PAYLOAD_OFFSET, parse_xlog_header

_RUNS = 7
_PAYLOAD = b'{"order_id": 4711, "note": "' + b"x" * 240 + b'"}'
_VALUES: list[bytes | None] = [
    b"0b9a4a3e-7f43-4b37-9d0c-6a3b1f2d4c5e",
    b"order",
    b"order-4711",
    b"OrderPlaced",
    _PAYLOAD,
    None,
]


def _column(value: bytes | None) -> bytes:
    return b"n" if value is None else b"t" + pack(">i", len(value)) + value


def _frame(message: bytes) -> bytes:
    return b"w" + pack(">QQq", 1 << 33, 1 << 33, 800_000_000_000_000) + message


_ROW = pack(">H", len(_VALUES)) + b"".join(map(_column, _VALUES))
_INSERT = _frame(b"I" + pack(">I", 16_400) + b"N" + _ROW)
_BEGIN = _frame(b"B" + pack(">QqI", 1 << 33, 800_000_000_000_000, 4_711))
_COMMIT = _frame(b"C" + pack(">BQQq", 0, 1 << 33, 1 << 33, 800_000_000_000_000))


def _ns_per_call(call: Callable[[], object], *, count: int = 100_000) -> float:
    return min(timeit.repeat(call, number=count, repeat=_RUNS)) / count * 1e9


def main() -> None:
    decode = Decoder().decode
    view = memoryview(_INSERT)
    cases: dict[str, Callable[[], object]] = {
        "Insert, 6 columns": lambda: decode(_INSERT, PAYLOAD_OFFSET),
        "Insert, 6 columns, memoryview": lambda: decode(view, PAYLOAD_OFFSET),
        "decode_row, 6 columns": lambda: decode_row(_INSERT, PAYLOAD_OFFSET + 6),
        "Begin": lambda: decode(_BEGIN, PAYLOAD_OFFSET),
        "Commit": lambda: decode(_COMMIT, PAYLOAD_OFFSET),
        "XLogData header": lambda: parse_xlog_header(_INSERT),
    }
    for name, call in cases.items():
        print(f"{name:32} {_ns_per_call(call):8.0f} ns")


if __name__ == "__main__":
    main()
