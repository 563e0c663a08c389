"""What the loop counts, and that no flood of topics makes it grow without bound."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cdc_relay.counters import BOUNDS_US, NO_TOPIC, OTHER, TOPIC_LIMIT, Counters, Latency, StageTime

NOW_US = 1_000_000_000_000


def one_by_one(delays_us: list[int]) -> Latency:
    latency = Latency()
    for delay_us in delays_us:
        latency.add([NOW_US - delay_us], NOW_US)
    return latency


@given(st.lists(st.integers(-5_000_000, 4_000_000_000), min_size=1, max_size=50))
def test_a_batch_counts_as_its_records_one_by_one(delays_us: list[int]) -> None:
    batch = Latency()
    batch.add([NOW_US - delay_us for delay_us in delays_us], NOW_US)
    assert batch.buckets == one_by_one(delays_us).buckets
    assert sum(batch.buckets) == len(delays_us)


def test_a_bound_is_within_its_bucket() -> None:
    assert one_by_one([BOUNDS_US[0]]).buckets[0] == 1
    assert one_by_one([BOUNDS_US[0] + 1]).buckets[1] == 1
    assert one_by_one([BOUNDS_US[-1] + 1]).buckets[-1] == 1


def test_the_buckets_begin_at_a_millisecond() -> None:
    assert BOUNDS_US[0] == 1_000
    assert list(BOUNDS_US) == sorted(set(BOUNDS_US))


def test_a_clock_that_is_behind_takes_nothing_off_the_sum() -> None:
    latency = one_by_one([-5_000_000])
    assert (latency.sum_us, latency.buckets[0]) == (0, 1)


def test_the_sum_is_that_of_all_delays() -> None:
    assert one_by_one([3_000, 4_000]).sum_us == 7_000


def test_topics_beyond_the_limit_are_counted_together() -> None:
    counters = Counters()
    for number in range(TOPIC_LIMIT + 50):
        counters.of("public.outbox", f"tenant-{number}").published += 1
    assert len(counters.topics) == TOPIC_LIMIT + 1
    assert counters.topics["public.outbox", OTHER].published == 50
    counters.of("public.outbox", "tenant-0").published += 1
    assert counters.topics["public.outbox", "tenant-0"].published == 2


def test_what_has_no_topic_is_counted_as_such() -> None:
    counters = Counters()
    counters.of("public.outbox", "").failed += 1
    assert counters.topics["public.outbox", NO_TOPIC].failed == 1


def test_a_stage_never_takes_less_than_nothing() -> None:
    spent = StageTime()
    spent.add(-0.1)
    spent.add(0.2)
    assert (spent.count, spent.seconds) == (2, 0.2)
