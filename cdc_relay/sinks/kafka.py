"""Kafka through librdkafka: acks=all, idempotent, ordered per key. Translates its errors; decides nothing else."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from cdc_relay.errors import AwayError, ConfigError, SinkError
from cdc_relay.model import Failure, Record, Ticket
from cdc_relay.sinks.sink import Reports
from cdc_relay.sinks.verdicts import QUEUE_TOO_SMALL, describe

__all__ = ["KafkaSink", "producer_properties"]

_PROBE_SECONDS = 5.0
_RESET_SECONDS = 5.0
_REPETITION = re.compile(r" \(after [^()]*(\([^()]*\)[^()]*)*\)")  # how often and when: another text each time
_FATAL = (KafkaException, SystemError)  # flush() of confluent-kafka 2.16 loses the exception: "NULL without setting"
_PURGED = (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT)

# What the relay's promises rest on; the configuration refuses anything weaker.
_OWNED = {
    "acks": "all",
    "enable.idempotence": "true",
    "message.timeout.ms": "0",  # an outage is never a record's fault: librdkafka must not give up
}
# Better for this use than librdkafka's own defaults; the configuration may say otherwise.
_DEFAULTS = {
    "client.id": "cdc-relay",
    "partitioner": "murmur2_random",  # where the Java client, and so Debezium, would put the same key
    "linger.ms": "50",  # behind: full batches; caught up: flush() lifts it
    "queue.buffering.max.messages": "10000000",  # the window bounds what is queued, not librdkafka
    "queue.buffering.max.kbytes": "2147483647",
    "log_level": "0",  # error_cb tells what matters
    "socket.keepalive.enable": "true",
    "reconnect.backoff.max.ms": "2000",
}


# librdkafka applies properties in the order given: a default must not undo what its alias says.
_ALIASES = {"linger.ms": "queue.buffering.max.ms"}


def producer_properties(configured: Mapping[str, str]) -> dict[str, str]:
    defaults = {name: value for name, value in _DEFAULTS.items() if _ALIASES.get(name) not in configured}
    properties = defaults | dict(configured) | _OWNED
    properties.pop("delivery.report.only.error", None)  # false, as configuration checks; the client takes no text here
    return properties


class KafkaSink:
    """One producer, rebuilt when it breaks. Reports are gathered by callbacks inside poll() and flush()."""

    def __init__(self, configured: Mapping[str, str]) -> None:
        self.error = ""
        self._properties = producer_properties(configured)
        self._delivered: list[Ticket] = []
        self._failed: list[tuple[Ticket, Failure]] = []
        self._waiting: deque[tuple[Record, Ticket]] = deque()  # only with a queue limit in the YAML below the window
        self._broken = ""  # why this producer can be used no more; final for the instance, whatever it answers
        self._producer = self._build()
        self._produce: Callable[..., None] = self._producer.produce

    def publish(self, record: Record, ticket: Ticket) -> None:
        if self._waiting or not self._try(record, ticket):
            self._waiting.append((record, ticket))

    def poll(self, timeout_seconds: float) -> Reports:
        return self._serve(self._producer.poll, timeout_seconds)

    def flush(self, timeout_seconds: float) -> Reports:
        return self._serve(self._producer.flush, timeout_seconds)

    def reset(self) -> None:
        """A producer that broke, or that cannot be emptied, is replaced: its callbacks are never served again."""
        self._waiting.clear()
        if self._broken or not self._empty():
            self._producer = self._build()
            self._produce = self._producer.produce
            self._broken = ""
        self._take_reports()

    def probe(self) -> None:
        try:
            self._producer.list_topics(timeout=_PROBE_SECONDS)
        except KafkaException as exc:
            raise AwayError(
                f"Kafka does not answer: {_text(exc)}",
                remedy="check sink.kafka bootstrap.servers, security settings, and that the brokers run",
            ) from exc

    def close(self) -> None:
        """Whatever is still open is given up: the slot has it."""
        with suppress(*_FATAL):  # a producer that broke just now has nothing to add
            self._producer.purge()
            self._producer.poll(0)

    def _build(self) -> Producer:
        try:
            return Producer({**self._properties, "error_cb": self._on_error})
        except (KafkaException, TypeError, ValueError) as exc:
            raise ConfigError(
                f"sink.kafka: {_text(exc)}",
                remedy="the names and values are librdkafka's own: see its CONFIGURATION.md",
            ) from exc

    def _empty(self) -> bool:
        deadline = time.monotonic() + _RESET_SECONDS
        try:
            self._producer.purge()
            while len(self._producer) and time.monotonic() < deadline:
                self._producer.poll(0.05)
        except _FATAL:
            return False
        return not len(self._producer)

    def _break(self, exc: Exception) -> SinkError:
        self._broken = _text(exc)
        return SinkError(f"the Kafka producer broke: {self._broken}")

    def _serve(self, call: Callable[[float], Any], timeout_seconds: float) -> Reports:
        try:
            call(timeout_seconds)
        except _FATAL as exc:
            raise self._break(exc) from exc
        if self._broken:  # a report or error_cb said so; nothing that came with it is a verdict on a record
            raise SinkError(f"the Kafka producer broke: {self._broken}")
        if self._waiting:
            self._catch_up()
        return self._take_reports()

    def _take_reports(self) -> Reports:
        reports = Reports(self._delivered, self._failed)
        self._delivered, self._failed = [], []
        if reports.delivered:
            self.error = ""
        return reports

    def _report(self, ticket: Ticket, error: KafkaError | None, message: object) -> None:
        if error is None:
            self._delivered.append(ticket)
        elif _is_fatal(error):
            self._broken = error.str()
        elif error.code() not in _PURGED:
            self._failed.append((ticket, describe(error)))

    def _try(self, record: Record, ticket: Ticket) -> bool:
        """False when librdkafka's queue is full: the record keeps its place in line here."""
        topic, key, value, headers, timestamp_ms, _, _, partition = record
        report = partial(self._report, ticket)
        try:
            self._produce(topic, value, key, partition, report, timestamp=timestamp_ms, headers=headers)
        except BufferError:
            return self._give_up_if_hopeless(ticket)
        except KafkaException as exc:
            self._refuse(ticket, exc)
        return True

    def _give_up_if_hopeless(self, ticket: Ticket) -> bool:
        """librdkafka says "full" of an empty queue when one record is larger than all of it."""
        if len(self._producer):
            return False
        self._failed.append((ticket, QUEUE_TOO_SMALL))
        return True

    def _catch_up(self) -> None:
        while self._waiting and self._try(*self._waiting[0]):
            self._waiting.popleft()

    def _refuse(self, ticket: Ticket, exc: KafkaException) -> None:
        error = exc.args[0]
        if _is_fatal(error):
            raise self._break(exc) from exc
        self._failed.append((ticket, describe(error)))

    def _on_error(self, error: KafkaError) -> None:
        if error.code() == KafkaError._ALL_BROKERS_DOWN and self.error:
            return  # a summary: what came before it has the cause
        self.error = _REPETITION.sub("", error.str())
        if _is_fatal(error):
            self._broken = self.error


def _is_fatal(error: KafkaError) -> bool:
    return error.fatal() or error.code() == KafkaError._FATAL


def _text(exc: Exception) -> str:
    error = exc.args[0] if exc.args else exc
    return error.str() if isinstance(error, KafkaError) else str(error)
