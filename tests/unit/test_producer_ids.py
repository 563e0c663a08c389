"""Ids of version 7: valid, growing within a process whatever its clock does, distinct across threads and forks."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from uuid import RFC_4122

from hypothesis import given
from hypothesis import strategies as st

from cdc_relay.outbox import ids, uuid7
from cdc_relay.outbox.ids import Clock

MS_NS = 1_000_000


def test_version_and_variant_are_those_of_rfc_9562() -> None:
    assert {(each.version, each.variant) for each in (uuid7() for _ in range(1000))} == {(7, RFC_4122)}


def test_the_first_48_bits_are_the_milliseconds_since_1970() -> None:
    before = time.time_ns() // MS_NS
    made = uuid7().int >> 80
    assert before <= made <= time.time_ns() // MS_NS + 1


def test_later_ones_are_greater_as_numbers_and_as_text() -> None:
    made = [uuid7() for _ in range(20_000)]
    assert made == sorted(set(made))
    assert [str(each) for each in made] == sorted(map(str, made))


@given(st.lists(st.integers(0, 2**48 - 2), min_size=1, max_size=50))
def test_a_clock_that_stands_or_is_set_back_does_not_matter(readings_ms: list[int]) -> None:
    readings = iter(readings_ms)
    clock = Clock(lambda: next(readings) * MS_NS)
    ticks = [clock.tick() for _ in readings_ms]
    assert ticks == sorted(set(ticks))
    latest = [max(readings_ms[: place + 1]) for place in range(len(readings_ms))]
    assert [each >> 74 for each in ticks] == latest


def test_a_millisecond_that_is_full_borrows_from_the_next() -> None:
    clock = Clock(lambda: 5 * MS_NS)
    clock.tick()
    clock._last |= (1 << 74) - 1  # the last of this millisecond
    assert clock.tick() >> 74 == 6


def test_threads_get_distinct_ids() -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: uuid7(), range(8_000)))
    assert len(set(made)) == 8_000


def test_a_forked_child_takes_other_steps_than_its_parent() -> None:
    """Even with the parent's lock held by a thread that the child does not have."""
    reader, writer = os.pipe()
    with ids._clock._lock:
        child = os.fork()
        if child == 0:
            signal.alarm(30)  # rather than wait for the lock for ever
            os.write(writer, uuid7().bytes)
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert os.read(reader, 16) != uuid7().bytes
