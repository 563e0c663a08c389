"""Ids of version 7: valid, growing within a process, distinct across threads and forks."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from uuid import RFC_4122, UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdc_relay.outbox import uuid7
from cdc_relay.outbox import uuid7 as _  # the function, not the module
from tests.unit.producer_rig import frozen_clock

MS = 1_000_000


def milliseconds(made: UUID) -> int:
    return made.int >> 80


def test_the_version_and_the_variant_are_those_of_rfc_9562() -> None:
    made = [uuid7() for _ in range(1000)]
    assert {(each.version, each.variant) for each in made} == {(7, RFC_4122)}


def test_the_first_48_bits_are_the_time_in_milliseconds() -> None:
    before = time.time_ns() // MS
    made = frozen_clock(0)  # a clock of its own: the shared one may have borrowed from the future
    assert made.tick() >> 74 == 0
    assert before <= milliseconds(uuid7()) <= time.time_ns() // MS + 1000


def test_later_ones_are_greater_as_numbers_and_as_text() -> None:
    made = [uuid7() for _ in range(20_000)]
    assert made == sorted(set(made))
    assert [str(each) for each in made] == sorted(str(each) for each in made)
