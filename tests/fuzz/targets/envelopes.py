"""Any row becomes a record that Kafka takes, in every envelope, or a failure with a remedy; both can be parked."""

from __future__ import annotations

from collections.abc import Iterator

from cdc_relay.protocol.messages import Column, Relation
from cdc_relay.routing.arrays import ELEMENT_OIDS
from cdc_relay.routing.values import RENDERERS
from tests.fuzz.script import Script
from tests.unit.hostile_corpus import COLUMNS, ENVELOPES, OIDS, SOUND, assert_settled, make_router

__all__ = ["TOKENS", "check", "seeds"]

TOKENS = (
    *(
        b'{"a": {"b": "c"}}',
        b'"\\ud800"',
        b"\\x00",
        b"{1,NULL}",
        b"infinity",
        b"2030-01-01 00:00:00+00",
        b" BC",
        b"1e400",
    ),
    *(
        b"[0:1]={1,2}",
        b"12:00:00.5+01:30",
        b"0001-01-01",
        b"NaN",
        b'{"h": "x"}',
        b"\xff\x10\x00",
        b"\\u0000",
        b"+15:59",
    ),
)

_NAMES = sorted(ENVELOPES)
_ALL_OIDS = (*OIDS, *sorted({*RENDERERS, *ELEMENT_OIDS, 1083, 1266} - set(OIDS)))
_TEXT_OID = 25


def check(data: bytes) -> None:
    """A sound row with the values that the bytes name, each of the type that they name."""
    script = Script(data)
    name = script.pick(_NAMES)
    row, oids = dict(SOUND), dict.fromkeys(COLUMNS, _TEXT_OID)
    while not script.is_over:
        column = script.pick(COLUMNS)
        oids[column] = script.pick(_ALL_OIDS)
        row[column] = None if script.byte() == 0 else script.chunk()
    described = tuple(Column(column, oids[column], -1, False) for column in COLUMNS)
    router = make_router(ENVELOPES[name])
    plan = router.plan(Relation(1, "public", "outbox", "d", described), now_us=lambda: 0)
    assert plan is not None
    assert_settled(router, plan, tuple(row[column] for column in COLUMNS))


def _value(column: str, oid: int, value: bytes) -> bytes:
    return bytes([COLUMNS.index(column), _ALL_OIDS.index(oid), 1, len(value)]) + value


_PRINTED = {
    16: b"t",
    17: b"\\x00ff",
    20: b"-9223372036854775808",
    114: b'{"b" :1,  "a":2}',
    1007: b"{1,NULL}",
    1009: b'{"a,b",""}',
    1082: b"0044-03-15 BC",
    1083: b"23:59:59.999999",
    1114: b"2026-01-02 03:04:05.1",
    1184: b"2026-01-02 03:04:05.1+00",
    1186: b"1 day 00:00:02",
    1266: b"12:00:00.5+01:30",
    1700: b"12345678901234567890.1234567",
    3802: b'{"a": 1e400}',
}


def seeds() -> Iterator[bytes]:
    for place in range(len(_NAMES)):
        yield bytes([place])
        for oid, printed in _PRINTED.items():
            yield bytes([place]) + _value("payload", oid, printed) + _value("at", oid, printed)
        yield bytes([place]) + _value("due", 1184, b"2030-01-01 00:00:00+00") + _value("extra", 3802, b'{"h": 1}')
