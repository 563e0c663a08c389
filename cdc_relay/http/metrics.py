"""Every metric's name and meaning, and the collector that reads them from `Stats` when Prometheus asks.

The loop counts in plain integers; nothing here runs unless `/metrics` is read.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from cdc_relay import __version__
from cdc_relay.parking.entry import LIVE, Status, Survey
from cdc_relay.stats import State, Stats

__all__ = ["StatsCollector", "build_registry"]

# Counters are exposed with the suffix _total, the build with _info.
PUBLISHED = "outbox_published"
PUBLISHED_BYTES = "outbox_published_bytes"
TRANSACTIONS = "outbox_transactions"
IGNORED_CHANGES = "outbox_ignored_changes"
FOREIGN_CHANGES = "outbox_foreign_changes"
DROPPED = "outbox_dropped"
RECONNECTS = "outbox_reconnects"
PARKED = "outbox_parked"
REPUBLISHED = "outbox_republished"
DEAD = "outbox_dead"
LOT_RECORDS = "outbox_lot_records"
LOT_OLDEST_SECONDS = "outbox_lot_oldest_seconds"
CLOSED_TOPICS = "outbox_closed_topics"
BACKLOG = "outbox_backlog_gauge"
IN_FLIGHT_RECORDS = "outbox_in_flight_records"
IN_FLIGHT_BYTES = "outbox_in_flight_bytes"
SLOT_LAG_BYTES = "outbox_slot_lag_bytes"
STATE = "outbox_state"
BUILD = "outbox_build"


class StatsCollector(Collector):
    def __init__(self, stats: Stats) -> None:
        self._stats = stats

    def collect(self) -> Iterator[Metric]:
        yield from _collect_counters(self._stats)
        yield from _collect_gauges(self._stats)
        yield _state_family(self._stats.state)
        build = {"version": __version__, "python": platform.python_version()}
        yield InfoMetricFamily(BUILD, "The running cdc-relay.", value=build)


def build_registry(stats: Stats) -> CollectorRegistry:
    """A private registry: two relays in one process (tests, the demo) do not meet in it."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(StatsCollector(stats))
    return registry


def _collect_counters(stats: Stats) -> Iterator[Metric]:
    yield CounterMetricFamily(PUBLISHED, "Records that the broker acknowledged.", stats.published_count)
    yield CounterMetricFamily(
        PUBLISHED_BYTES, "Key, value and header bytes of acknowledged records.", stats.published_bytes
    )
    yield CounterMetricFamily(TRANSACTIONS, "Transactions read from the slot.", stats.transaction_count)
    yield CounterMetricFamily(
        IGNORED_CHANGES, "Changes of relations, and messages of prefixes, that are no outbox.", stats.ignored_count
    )
    yield CounterMetricFamily(
        FOREIGN_CHANGES, "Updates, deletes and truncates of outboxes: never published.", stats.change_count
    )
    yield CounterMetricFamily(DROPPED, "Rows that a route drops.", stats.dropped_count)
    yield CounterMetricFamily(RECONNECTS, "Times the replication line was opened again.", stats.reconnect_count)
    yield CounterMetricFamily(PARKED, "Records that went into the lot, for whatever reason.", stats.parked_count)
    yield CounterMetricFamily(REPUBLISHED, "Records published from the lot.", stats.republished_count)
    yield CounterMetricFamily(DEAD, "Records that were given up: an operator decides.", stats.dead_count)


def _collect_gauges(stats: Stats) -> Iterator[Metric]:
    yield GaugeMetricFamily(IN_FLIGHT_RECORDS, "Records read and not yet settled.", stats.open_record_count)
    yield GaugeMetricFamily(IN_FLIGHT_BYTES, "Key, value and header bytes of records in flight.", stats.open_bytes)
    yield GaugeMetricFamily(CLOSED_TOPICS, "Topics that cannot take records now.", len(stats.closed_topics))
    if stats.lot is not None:
        yield from _collect_lot(stats.lot, stats.open_record_count)
    if stats.slot_lag_bytes is not None:  # absent until known: a zero would say "caught up"
        yield GaugeMetricFamily(SLOT_LAG_BYTES, "WAL that the slot has not confirmed.", stats.slot_lag_bytes)


def _collect_lot(lot: Survey, open_record_count: int) -> Iterator[Metric]:
    family = GaugeMetricFamily(LOT_RECORDS, "Records in the lot, by status; read every 10 s.", labels=["status"])
    for status in LIVE:
        family.add_metric([status.value], lot.counts.get(status, 0))
    yield family
    yield GaugeMetricFamily(LOT_OLDEST_SECONDS, "Age of the oldest record in the lot.", lot.oldest_seconds or 0)
    waiting = lot.counts.get(Status.RETRYING, 0) + lot.counts.get(Status.BEHIND, 0)
    yield GaugeMetricFamily(BACKLOG, "Records read and unsettled, retrying or behind.", open_record_count + waiting)


def _state_family(current: State) -> Metric:
    family = GaugeMetricFamily(STATE, "1 for the state that the relay is in, 0 for the others.", labels=["state"])
    for state in State:
        family.add_metric([state.value], float(state is current))
    return family
