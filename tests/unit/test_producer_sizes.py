"""What is too large for the relay's producer is refused before it is written, counted as jsonb prints it."""

from __future__ import annotations

from typing import Any

import pytest

from cdc_relay.outbox import EventError, Outbox
from cdc_relay.outbox.rows import to_row
from tests.unit.producer_rig import event


def test_the_size_of_key_payload_and_headers_is_limited() -> None:
    fits = {"key": "kk", "payload": '"' + "é" * 10 + '"', "headers": {"h": "v"}}  # 2 + 22 + 10
    to_row(event(**fits), Outbox(limit_bytes=34))
    with pytest.raises(EventError, match="has up to 34 bytes as jsonb prints it, and the limit is 33; send where"):
        to_row(event(**fits), Outbox(limit_bytes=33))


@pytest.mark.parametrize(
    ("payload", "size_bytes"),  # the key's byte included
    [
        ('{"a":[1,2]}', 14),
        ('{"a": [1, 2]}', 14),
        ('{"a,b:c\\",:":"x"}', 19),
        ({"a": 1e300}, 309),
        ([-1.5e-7], 14),
    ],
)
def test_the_size_is_what_jsonb_prints(payload: Any, size_bytes: int) -> None:
    to_row(event(payload=payload), Outbox(limit_bytes=size_bytes))
    with pytest.raises(EventError, match=f"{size_bytes} bytes"):
        to_row(event(payload=payload), Outbox(limit_bytes=size_bytes - 1))


def test_the_limit_is_below_what_the_relays_producer_sends_by_default() -> None:
    assert 900_000 < Outbox().limit_bytes < 1_000_000
