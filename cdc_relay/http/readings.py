"""What the metrics show at one moment: samples under the names of `meters`, read from `Stats`. Pure."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from typing import NamedTuple

from cdc_relay import __version__
from cdc_relay.counters import TOPIC_LIMIT, snapshot
from cdc_relay.http.kafka_readings import read_kafka
from cdc_relay.http.sample import Sample
from cdc_relay.http.status import lag_seconds
from cdc_relay.parking.entry import LIVE, Reason, Status, Survey
from cdc_relay.stats import State, Stats

__all__ = ["Moment", "read_stats"]

_READ = frozenset({State.STREAMING, State.HOLDING, State.STOPPING, State.STANDBY})  # by us or, standing by, by another


class Moment(NamedTuple):
    now: float  # by the monotonic clock
    wall: float  # in seconds since 1970


def read_stats(stats: Stats, moment: Moment) -> Iterator[Sample]:
    yield from _read_flow(stats)
    yield from _read_relay(stats, moment)
    yield from _read_slot(stats, moment)
    yield from _read_lot(stats)
    yield from _read_topics(stats, moment)
    if stats.state is not State.STANDBY:
        yield from read_kafka(stats.sink_statistics)
    yield from _read_upkeep(stats)


def _read_flow(stats: Stats) -> Iterator[Sample]:
    for series, counter in snapshot(stats.counters.topics).items():
        yield Sample("outbox_publish_attempts_total", counter.published + counter.refused, series)
        yield Sample("outbox_published_total", counter.published, series)
        yield Sample("outbox_retry_total", counter.retried, series)
        yield Sample("outbox_failed_permanent_total", counter.failed, series)
    yield Sample("outbox_published_bytes_total", stats.published_bytes)
    yield Sample("outbox_transactions_total", stats.transaction_count)
    yield Sample("outbox_dropped_total", stats.dropped_count)
    yield Sample("outbox_ignored_changes_total", stats.ignored_count)
    yield Sample("outbox_foreign_changes_total", stats.change_count)


def _read_relay(stats: Stats, moment: Moment) -> Iterator[Sample]:
    for state in State:
        yield Sample("outbox_state", float(state is stats.state), (state.value,))
    open_record_count, open_bytes = stats.open_record_count, stats.open_bytes  # before the time, as in health
    yield Sample("outbox_in_flight_records", open_record_count)
    yield Sample("outbox_in_flight_bytes", open_bytes)
    bounds = stats.bounds
    fills = (open_record_count / (bounds.window_records or 1), open_bytes / (bounds.window_bytes or 1))
    yield Sample("outbox_window_fill_ratio", max(fills))
    stalled_seconds = max(0.0, moment.now - stats.last_settled_at) if open_record_count else 0.0
    yield Sample("outbox_stalled_seconds", stalled_seconds)
    yield Sample("outbox_loop_silent_seconds", max(0.0, moment.now - stats.last_turn_at))
    yield Sample("outbox_reconnects_total", stats.reconnect_count)
    yield Sample("outbox_build_info", 1, (__version__, platform.python_version()))


def _read_slot(stats: Stats, moment: Moment) -> Iterator[Sample]:
    yield Sample("outbox_slot_active", float(stats.state in _READ))
    if stats.state is State.STANDBY:
        return  # what it saw before it stood by is not what is
    if stats.slot_lag_bytes is not None:
        yield Sample("outbox_slot_lag_bytes", stats.slot_lag_bytes)
    lag = lag_seconds(stats, moment.wall)
    if lag is not None:
        yield Sample("outbox_slot_lag_seconds", lag)
    if stats.room is not None:
        yield Sample("outbox_slot_wal_headroom_bytes", stats.room.left_bytes)
        yield Sample("outbox_slot_wal_limit_bytes", stats.room.limit_bytes)


def _read_lot(stats: Stats) -> Iterator[Sample]:
    parked = snapshot(stats.counters.parked)
    for reason in Reason:
        yield Sample("outbox_parked_total", parked.get(reason, 0), (reason.value,))
    yield Sample("outbox_republished_total", stats.republished_count)
    yield Sample("outbox_lot_limit_records", stats.bounds.lot_records)
    yield Sample("outbox_lot_limit_bytes", stats.bounds.lot_bytes)
    if stats.lot is not None and stats.state is not State.STANDBY:
        yield from _read_survey(stats.lot, stats.open_record_count)


def _read_survey(lot: Survey, open_record_count: int) -> Iterator[Sample]:
    for status in LIVE:
        yield Sample("outbox_lot_records", lot.counts.get(status, 0), (status.value,))
    yield Sample("outbox_lot_bytes", lot.live_bytes)
    yield Sample("outbox_lot_oldest_seconds", lot.oldest_seconds or 0)
    waiting = lot.counts.get(Status.RETRYING, 0) + lot.counts.get(Status.BEHIND, 0)
    yield Sample("outbox_backlog_gauge", open_record_count + waiting)


def _read_topics(stats: Stats, moment: Moment) -> Iterator[Sample]:
    if stats.state is State.STANDBY:
        return
    yield Sample("outbox_closed_topics", len(stats.closed_topics))
    for closure in stats.closed_topics[:TOPIC_LIMIT]:
        yield Sample("outbox_topic_closed_seconds", max(0.0, moment.now - closure.since), (closure.topic,))


def _read_upkeep(stats: Stats) -> Iterator[Sample]:
    for table, count in stats.upkeep.removed.items():
        yield Sample("outbox_retention_removed_rows_total", count, (table,))
    for action, counts in (("made", stats.upkeep.made), ("dropped", stats.upkeep.dropped)):
        for table, count in counts.items():
            yield Sample("outbox_retention_partitions_total", count, (table, action))
    if stats.upkeep.tried_at is not None:
        yield Sample("outbox_retention_failing", float(bool(stats.upkeep.error)))
    if stats.upkeep.ran_at is not None:
        yield Sample("outbox_retention_last_run_timestamp_seconds", stats.upkeep.ran_at)
    for place, expiry in stats.upkeep.certificates.items():
        yield Sample("outbox_certificate_expiry_timestamp_seconds", expiry, (place,))
