"""The content of any logical message becomes a record in every envelope, or a failure that keeps it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.unit.hostile_corpus import ENVELOPES, SOUND, assert_settled, make_router

__all__ = ["TOKENS", "check", "seeds"]

TOKENS = (
    *(b'"id":', b'"aggregatetype":', b'"aggregateid":', b'"type":', b'"payload":', b'"tenant":', b'"part":', b'"at":'),
    *(b'"extra":', b'"due":', b'{"a":{"b":"c"}}', b'"\\ud800"', b'"\\u0000"', b"NaN", b"1e400", b"null", b"[[[["),
    *(b'"2030-01-01T00:00:00Z"', b'"2030-01-01T00:00:00+15:59"', b"-0", b"9223372036854775808"),
)

_NAMES = sorted(ENVELOPES)


def check(data: bytes) -> None:
    name = _NAMES[(data[0] if data else 0) % len(_NAMES)]
    router = make_router(ENVELOPES[name], message_prefix="o")
    assert_settled(router, router.plan_messages(now_us=lambda: 0)["o"], (data[1:],))


def seeds() -> Iterator[bytes]:
    sound: dict[str, object] = {key: None if value is None else value.decode() for key, value in SOUND.items()}
    whole = sound | {"payload": {"a": {"b": "c"}}, "extra": {"h": "x"}, "part": 1, "at": 1_700_000_000_000}
    for place in range(len(_NAMES)):
        yield bytes([place]) + json.dumps(whole).encode()
        yield bytes([place]) + json.dumps(whole | {"due": "2030-01-01T00:00:00Z"}).encode()
        yield bytes([place]) + b"{}"
