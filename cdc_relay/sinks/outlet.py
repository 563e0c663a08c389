"""One producer: hands records to it, and gathers what its callbacks say inside poll() and flush()."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from cdc_relay.delivery.failures import QUEUE_TOO_SMALL, judge
from cdc_relay.errors import SinkError
from cdc_relay.model import Action, Failure, Record
from cdc_relay.sinks.producer import ReturnedContent
from cdc_relay.sinks.producers import build_producer, text_of
from cdc_relay.sinks.sink import Reject, Slip
from cdc_relay.sinks.verdicts import PURGED, is_fatal, judge_refusal, judge_report, returned_record

__all__ = ["Outlet"]

_FATAL = (KafkaException, SystemError)  # flush() of confluent-kafka 2.16 loses the exception: "NULL without setting"


class Outlet:
    """Verdicts stay in `producer.delivered`, `failed` and `purged` until the owner takes them away."""

    def __init__(
        self,
        properties: Mapping[str, str],
        *,
        complain: Callable[[KafkaError], None],
        on_statistics: Callable[[str], None] | None = None,
        is_alone: bool = False,
    ) -> None:
        self.failed: list[Reject] = []
        self.purged: list[tuple[Slip, Record]] = []
        self.waiting: deque[tuple[Record, Slip]] = deque()  # for room, where the YAML limits the queue below the window
        self._broken: Failure | None = None  # final for this producer, whatever it answers
        self._complain = complain
        self._is_alone = is_alone
        self._is_emptying = False
        self.producer = build_producer(
            properties, fail=self._on_failed, on_error=self._on_error, on_statistics=on_statistics
        )
        self._hand_out = self.producer.hand_out

    @property
    def is_busy(self) -> bool:
        return bool(self.waiting) or len(self.producer) > 0

    def publish(self, record: Record, slip: Slip) -> None:
        if self.waiting or not self.hand_out(record, slip):
            self.waiting.append((record, slip))

    def hand_out(self, record: Record, slip: Slip) -> bool:
        """False when librdkafka's queue is full: the record keeps its place in line here."""
        try:
            return self._hand_out(record, slip) or self._give_up_if_hopeless(record, slip)
        except KafkaException as exc:
            self._refuse(record, slip, exc)
        except (OverflowError, TypeError, ValueError) as exc:  # the client takes no such number or text
            self.failed.append(Reject(slip, record, judge("_INVALID_ARG", str(exc)), was_alone=True))
        return True

    def poll(self, timeout_seconds: float) -> None:
        self._serve(self.producer.poll, timeout_seconds)

    def flush(self, timeout_seconds: float) -> None:
        self._serve(self.producer.flush, timeout_seconds)

    def empty(self, timeout_seconds: float) -> None:
        """Everything that is out gets a verdict or is purged. An idempotent producer goes on after that."""
        self._is_emptying = True
        try:
            self._purge(timeout_seconds)
        except _FATAL as exc:
            raise self._break(exc) from exc
        self._is_emptying = False
        if len(self.producer):
            self._broken = judge("_STATE", f"it could not be emptied within {timeout_seconds:g} s")
        self._refuse_if_broken()
        self.purged += [(slip, record) for record, slip in self.waiting]
        self.waiting.clear()

    def abandon(self) -> None:
        """Whatever is still open is given up."""
        self.waiting.clear()
        with suppress(*_FATAL, MemoryError):  # a producer that broke just now has nothing to add
            self.producer.purge(waits=False)
            self.producer.poll(0)

    def close(self) -> None:
        """Callbacks that are never served keep this object alive: it must not keep the producer."""
        self.abandon()
        del self.producer, self._hand_out

    def _purge(self, timeout_seconds: float) -> None:
        deadline = time.monotonic() + timeout_seconds
        self.producer.purge(waits=True)  # or it would reach records that are handed out after it: every third time
        while len(self.producer) and time.monotonic() < deadline:
            self.producer.poll(0.05)

    def _on_failed(
        self, slip: Slip, content: ReturnedContent, timestamp_ms: int, partition: int, error: KafkaError
    ) -> None:
        record = returned_record(slip, content, timestamp_ms=timestamp_ms, partition=partition)
        self._reject(record, slip, error, partition=partition)

    def _reject(self, record: Record, slip: Slip, error: KafkaError, *, partition: int) -> None:
        if self._is_emptying and error.code() in PURGED:
            self.purged.append((slip, record))
            return
        failure = judge_report(error, partition=partition, was_alone=self._is_alone)
        if is_fatal(error) or failure.action is Action.REBUILD:
            self._broken = failure
        else:
            self.failed.append(Reject(slip, record, failure, self._is_alone))

    def _refuse(self, record: Record, slip: Slip, exc: KafkaException) -> None:
        failure = judge_refusal(exc.args[0])
        if is_fatal(exc.args[0]) or failure.action is Action.REBUILD:
            raise self._break(exc) from exc
        self.failed.append(Reject(slip, record, failure, was_alone=True))

    def _give_up_if_hopeless(self, record: Record, slip: Slip) -> bool:
        """librdkafka says "full" of an empty queue when one record is larger than all of it."""
        if len(self.producer):
            return False
        failure = judge(QUEUE_TOO_SMALL, "the record is larger than the producer's whole queue")
        self.failed.append(Reject(slip, record, failure, was_alone=True))
        return True

    def _serve(self, call: Callable[[float], Any], timeout_seconds: float) -> None:
        try:
            call(timeout_seconds)
        except _FATAL as exc:
            raise self._break(exc) from exc
        self._refuse_if_broken()  # a report or error_cb said so; nothing that came with it is a verdict on a record
        self._hand_out_waiting()

    def _hand_out_waiting(self) -> None:
        while self.waiting and self.hand_out(*self.waiting[0]):
            self.waiting.popleft()

    def _break(self, exc: Exception) -> SinkError:
        error = exc.args[0] if exc.args else None
        code = error.name() if isinstance(error, KafkaError) else "_FATAL"
        self._broken = judge(code, text_of(exc))
        return self._finished(self._broken)

    def _refuse_if_broken(self) -> None:
        if self._broken is not None:
            raise self._finished(self._broken)

    def _finished(self, failure: Failure) -> SinkError:
        return SinkError(f"the Kafka producer broke: {failure.reason}", remedy=failure.remedy)

    def _on_error(self, error: KafkaError) -> None:
        if is_fatal(error):
            self._broken = judge(error.name(), error.str())
        self._complain(error)
