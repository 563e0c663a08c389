"""What a record leaves behind once it was acknowledged: nothing."""

from __future__ import annotations

import sys

import pytest

from cdc_relay.model import Headers
from tests.contract.sinks import KafkaBench, collect, record, ticket

MANY: Headers = [(f"ce_{number}", b"%d" % number) for number in range(9)]


@pytest.mark.parametrize("headers", [[], MANY], ids=["no headers", "many"])
def test_values_and_slips_are_let_go_when_they_are_acknowledged(brokers: KafkaBench, headers: Headers) -> None:
    sink, topic, value, slip = brokers.make_sink(), brokers.make_topic(), b"a value that nobody else has", ticket()
    given = record(topic, value=value, headers=headers)
    held = sys.getrefcount(value), sys.getrefcount(slip)
    for _ in range(2):
        for _ in range(3_000):
            sink.publish(given, slip)
        reports = collect(sink, 3_000)
        del reports
        assert (sys.getrefcount(value), sys.getrefcount(slip)) == held
