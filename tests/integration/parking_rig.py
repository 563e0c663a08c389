"""The number that an event carries, and a slot that is confirmed to the end."""

from __future__ import annotations

import json

from confluent_kafka import Message

from tests.fixtures.fix_relay import Pipeline
from tests.fixtures.process import wait_until

__all__ = ["number_of", "wait_confirmed"]


def number_of(record: Message) -> int:
    return int(json.loads(record.value() or b"")["n"])


def wait_confirmed(pipeline: Pipeline, end: int) -> None:
    wait_until(lambda: pipeline.confirmed_lsn() >= end, timeout=60, what="the slot is confirmed to the end")
