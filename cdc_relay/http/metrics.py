"""The page `/metrics`: samples and histograms as Prometheus' client library wants them.

The loop counts in plain integers; nothing here runs unless `/metrics` is read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import accumulate

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import HistogramMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.registry import Collector

from cdc_relay.counters import BOUNDS_US, Latency, snapshot
from cdc_relay.http.meters import METERS, Kind, Meter
from cdc_relay.http.readings import Moment, read_stats
from cdc_relay.stats import Stats

__all__ = ["SERVICE", "StatsCollector", "build_registry"]

SERVICE = "service"  # the label that every metric has

_SUFFIXES = {Kind.COUNTER: "_total", Kind.INFO: "_info"}
_LATENCY = METERS["outbox_publish_latency_seconds"]
_STAGES = METERS["outbox_stage_seconds"]


def _moment() -> Moment:
    return Moment(time.monotonic(), time.time())


class StatsCollector(Collector):
    def __init__(self, stats: Stats, *, clock: Callable[[], Moment] = _moment) -> None:
        self._stats = stats
        self._clock = clock

    def collect(self) -> Iterator[Metric]:
        families: dict[str, Metric] = {}
        for name, value, labels in read_stats(self._stats, self._clock()):
            meter = METERS[name]
            family = families.setdefault(name, _family(meter))
            family.add_sample(name, self._label(meter, labels), value)
        yield from families.values()
        yield self._latencies()
        yield self._stages()

    def _label(self, meter: Meter, labels: tuple[str, ...]) -> dict[str, str]:
        return {SERVICE: self._stats.service, **dict(zip(meter.labels, labels, strict=True))}

    def _latencies(self) -> Metric:
        family = HistogramMetricFamily(_LATENCY.name, _LATENCY.meaning, labels=[SERVICE, *_LATENCY.labels])
        for outbox, latency in snapshot(self._stats.counters.latencies).items():
            family.add_metric([self._stats.service, outbox], list(_buckets(latency)), latency.sum_us / 1e6)
        return family

    def _stages(self) -> Metric:
        family = SummaryMetricFamily(_STAGES.name, _STAGES.meaning, labels=[SERVICE, *_STAGES.labels])
        for stage, spent in self._stats.counters.stages.items():
            family.add_metric([self._stats.service, stage.value], spent.count, spent.seconds)
        return family


def build_registry(stats: Stats) -> CollectorRegistry:
    """A private registry: two relays in one process (tests, the demo) do not meet in it."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(StatsCollector(stats))
    ProcessCollector(registry=registry)  # memory, CPU, open files: process_*
    return registry


def _family(meter: Meter) -> Metric:
    return Metric(meter.name.removesuffix(_SUFFIXES.get(meter.kind, "")), meter.meaning, meter.kind)


def _buckets(latency: Latency) -> Iterator[tuple[str, float]]:
    bounds = [str(bound / 1e6) for bound in BOUNDS_US] + ["+Inf"]
    return zip(bounds, accumulate(latency.buckets), strict=True)
