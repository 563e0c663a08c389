"""The demo's bookkeeping finds every fault that is planted in it."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from cdc_relay.demo.tally import Delivery, RateHistory, Tally, percentile


def delivery(event_id: UUID | None) -> Delivery:
    return Delivery(topic="outbox.event.order", key="order-1", type="OrderPlaced", id=event_id)


def committed_tally(ids: list[UUID]) -> Tally:
    tally = Tally()
    tally.committing(ids, now=10.0)
    return tally


def test_all_that_was_committed_and_nothing_else_is_exact() -> None:
    ids = [uuid4() for _ in range(3)]
    tally = committed_tally(ids)
    tally.rolled_back(2)
    for event_id in ids:
        tally.received(delivery(event_id), now=11.0)
    summary = tally.summary()
    assert summary.is_exact
    assert (summary.committed, summary.delivered, summary.rolled_back) == (3, 3, 2)


def test_a_lost_event_is_missing() -> None:
    ids = [uuid4(), uuid4()]
    tally = committed_tally(ids)
    tally.received(delivery(ids[0]), now=11.0)
    summary = tally.summary()
    assert (summary.missing, summary.unexpected, summary.is_exact) == (1, 0, False)


def test_a_rolled_back_event_that_arrives_is_unexpected() -> None:
    """Its id was never committed, and that is all that counts."""
    committed, phantom = uuid4(), uuid4()
    tally = committed_tally([committed])
    tally.rolled_back(1)
    for event_id in (committed, phantom):
        tally.received(delivery(event_id), now=11.0)
    summary = tally.summary()
    assert (summary.missing, summary.unexpected, summary.delivered, summary.is_exact) == (0, 1, 1, False)


def test_a_phantom_does_not_make_up_for_a_lost_event() -> None:
    tally = committed_tally([uuid4()])
    tally.received(delivery(uuid4()), now=11.0)
    summary = tally.summary()
    assert (summary.missing, summary.unexpected, summary.delivered) == (1, 1, 0)


def test_a_record_without_an_id_is_unexpected() -> None:
    tally = committed_tally([])
    tally.received(delivery(None), now=11.0)
    assert tally.summary().unexpected == 1


def test_a_second_delivery_is_a_duplicate_and_no_fault() -> None:
    event_id = uuid4()
    tally = committed_tally([event_id])
    for now in (11.0, 12.0, 13.0):
        tally.received(delivery(event_id), now=now)
    summary = tally.summary()
    assert (summary.delivered, summary.duplicates, summary.is_exact) == (1, 2, True)


def test_latency_runs_from_commit_to_the_first_delivery() -> None:
    event_id = uuid4()
    tally = committed_tally([event_id])
    tally.received(delivery(event_id), now=10.004)
    tally.received(delivery(event_id), now=99.0)
    summary = tally.summary()
    assert (summary.latency_p50_ms, summary.latency_p99_ms) == (4.0, 4.0)


def test_the_rate_spans_first_commit_to_last_delivery() -> None:
    ids = [uuid4() for _ in range(10)]
    tally = committed_tally(ids)
    for event_id in ids:
        tally.received(delivery(event_id), now=12.0)
    assert tally.summary().per_second == 5.0


def test_an_empty_tally_has_a_summary() -> None:
    summary = Tally().summary()
    assert (summary.committed, summary.per_second, summary.latency_p50_ms, summary.is_exact) == (0, 0.0, None, True)


def test_the_count_shows_the_last_deliveries_and_what_is_under_way() -> None:
    ids = [uuid4() for _ in range(12)]
    tally = committed_tally(ids)
    for event_id in ids[:10]:
        tally.received(delivery(event_id), now=11.0)
    count = tally.count()
    assert count.awaiting == 2
    assert [shown.id for shown in count.recent] == ids[2:10]


@pytest.mark.parametrize(("percent", "expected"), [(1, 1.0), (50, 50.0), (99, 99.0), (100, 100.0)])
def test_percentiles_are_nearest_rank(percent: float, expected: float) -> None:
    assert percentile([float(value) for value in range(100, 0, -1)], percent) == expected


def test_the_only_value_is_every_percentile() -> None:
    assert percentile([7.0], 1) == percentile([7.0], 99) == 7.0


def test_the_rate_history_divides_by_the_time_between_samples() -> None:
    history = RateHistory(0.0, length=2)
    for delivered_count, now in ((100, 1.0), (500, 3.0), (500, 4.0)):
        history.sample(delivered_count, now)
    assert history.rates == (200.0, 0.0)
