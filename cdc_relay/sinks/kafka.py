"""Kafka through librdkafka: acks=all, idempotent, ordered per key. Translates its errors; decides nothing else."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence

from confluent_kafka import KafkaError

from cdc_relay.errors import AwayError, SinkError
from cdc_relay.model import Failure, Record
from cdc_relay.sinks.alone_outlet import AloneOutlet
from cdc_relay.sinks.broker_certificates import explain
from cdc_relay.sinks.outlet import Outlet
from cdc_relay.sinks.probes import probe_cluster, probe_topic
from cdc_relay.sinks.producer import Producer
from cdc_relay.sinks.producers import find_detour, producer_properties
from cdc_relay.sinks.sink import Emptied, Reject, Reports, Slip, TopicLimits
from cdc_relay.sinks.topic_limits import LimitsReader

__all__ = ["KafkaSink", "producer_properties"]

_EMPTY_SECONDS = 5.0
_ALONE_IDLE_SECONDS = 10.0
_REPETITION = re.compile(r" \(after [^()]*(\([^()]*\)[^()]*)*\)")  # how often and when: another text each time


class KafkaSink:
    """A producer, and a second one for records that travel alone, there only while it is needed."""

    def __init__(self, configured: Mapping[str, str], *, fixed_topics: Sequence[str] = ()) -> None:
        self.error = ""
        self.statistics = ""
        self.fixed_limits: dict[str, TopicLimits] = {}
        self._fixed_topics = fixed_topics
        self._properties = producer_properties(configured)
        self.detour = find_detour(self._properties)
        self._main = self._make_main()
        self._alone: AloneOutlet | None = None
        self._alone_used_at = 0.0
        self._limits: LimitsReader | None = None  # of the helper thread
        self._producers: tuple[Producer, ...] = (self._main.producer,)  # replaced whole: the helper thread reads it

    def publish(self, record: Record, slip: Slip) -> None:
        main = self._main  # Outlet.publish, without the call: 60 ns
        if main.waiting or not main.hand_out(record, slip):
            main.waiting.append((record, slip))

    def publish_alone(self, record: Record, slip: Slip) -> None:
        if self._alone is None:
            self._alone = AloneOutlet(self._properties, complain=self._on_error)
            self._producers = (self._main.producer, self._alone.producer)
        self._alone_used_at = time.monotonic()
        self._alone.publish(record, slip)

    def poll(self, timeout_seconds: float) -> Reports:
        return self._serve(Outlet.poll, timeout_seconds)

    def flush(self, timeout_seconds: float) -> Reports:
        return self._serve(Outlet.flush, timeout_seconds)

    def empty(self) -> Emptied:
        outlets = self._outlets()
        for outlet in outlets:
            outlet.empty(_EMPTY_SECONDS)
        purged = [each for outlet in outlets for each in outlet.purged]
        for outlet in outlets:
            outlet.purged = []
        return Emptied(self._take_reports(), sorted(purged, key=_stream_order))

    def reset(self) -> None:
        """A producer that broke, or that cannot be emptied, is replaced: its callbacks are never served again."""
        self._drop_alone()
        try:
            self.empty()
        except SinkError:
            self._main.close()
            self._main = self._make_main()
            self._producers = (self._main.producer,)

    def probe(self) -> None:
        try:
            probe_cluster(self._producers[0])
        except AwayError as exc:
            raise AwayError(exc.message + explain(self.error, self._properties), remedy=exc.remedy) from exc
        if self._limits is None:
            self._limits = LimitsReader(self._properties)
        self.fixed_limits = self._limits.read(self._fixed_topics) if self._fixed_topics else {}

    def probe_topic(self, topic: str) -> Failure | None:
        return probe_topic(topic, producers=self._producers, properties=self._properties)

    def read_limits(self, topics: Sequence[str]) -> dict[str, TopicLimits]:
        return {} if self._limits is None else self._limits.read(topics)

    def close(self) -> None:
        """Whatever is still open is given up: the slot has it."""
        self._drop_alone()
        self._main.abandon()

    def _make_main(self) -> Outlet:
        return Outlet(self._properties, complain=self._on_error, on_statistics=self._on_statistics)

    def _outlets(self) -> list[Outlet]:
        return [self._main] if self._alone is None else [self._main, self._alone]

    def _serve(self, call: Callable[[Outlet, float], None], timeout_seconds: float) -> Reports:
        if self._alone is None:
            call(self._main, timeout_seconds)
            return self._take_reports()
        self._serve_both(self._main, self._alone, call, timeout_seconds)
        reports = self._take_reports()
        if not self._alone.is_busy and time.monotonic() - self._alone_used_at > _ALONE_IDLE_SECONDS:
            self._drop_alone()
        return reports

    def _serve_both(
        self, main: Outlet, alone: AloneOutlet, call: Callable[[Outlet, float], None], timeout_seconds: float
    ) -> None:
        """The time goes to those with records out: what an idle one has to say needs no waiting for."""
        share = timeout_seconds / 2 if main.is_busy and alone.is_busy else timeout_seconds
        call(alone, share if alone.is_busy else 0)
        call(main, share if main.is_busy or not alone.is_busy else 0)

    def _drop_alone(self) -> None:
        if self._alone is not None:
            self._producers = (self._main.producer,)
            self._alone.close()
            self._alone = None

    def _take_reports(self) -> Reports:
        main, alone = self._main, self._alone
        reports = Reports(main.producer.delivered, main.failed)
        main.producer.delivered, main.failed = [], []
        if alone is not None:
            reports = Reports(reports.delivered + alone.producer.delivered, reports.failed + alone.failed)
            alone.producer.delivered, alone.failed = [], []
        if len(reports.failed) > 1:
            reports.failed.sort(key=_stream_order)
        if reports.delivered:
            self.error = ""
        return reports

    def _on_statistics(self, text: str) -> None:
        """Inside poll(), on the loop's thread: whoever wants to read it parses it."""
        self.statistics = text

    def _on_error(self, error: KafkaError) -> None:
        if error.code() == KafkaError._ALL_BROKERS_DOWN and self.error:
            return  # a summary: what came before it has the cause
        self.error = _REPETITION.sub("", error.str())


def _stream_order(returned: Reject | tuple[Slip, Record]) -> tuple[int, int]:
    """That of a key's records is the order they were handed out in; across partitions reports come as they like."""
    return returned[0].position
