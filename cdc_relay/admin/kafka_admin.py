"""librdkafka's admin client, asked with time limits and heard out: the cause of a silence comes by error_cb alone."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import Future, wait
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._metadata import ClusterMetadata

from cdc_relay.admin.topics_refusals import NO_RIGHT
from cdc_relay.errors import AwayError, ConfigError, RefusedError, RelayError
from cdc_relay.sinks.broker_certificates import explain
from cdc_relay.sinks.producers import admin_properties, producer_properties, text_of

__all__ = ["UNKNOWN_TOPIC", "KafkaAdmin"]

UNKNOWN_TOPIC = ("UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC")
_REFUSED_SECONDS = 2.0  # a broker that refuses us may have a neighbour that does not
_TURN_SECONDS = 0.1
_METADATA_SECONDS = 1.0
_WRONG_CREDENTIALS = (
    KafkaError._AUTHENTICATION,
    KafkaError._SSL,
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError.UNSUPPORTED_SASL_MECHANISM,
)
_Key = TypeVar("_Key")


class KafkaAdmin:
    """One admin client, with the connection of sink.kafka."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self.complaint: KafkaError | None = None
        self._properties = properties
        asked = {**admin_properties(producer_properties(properties)), "error_cb": self._on_error}
        try:
            self.client = AdminClient(asked)  # type: ignore[arg-type]  # the stubs know no callback
        except (KafkaException, TypeError, ValueError) as exc:
            remedy = "the names and values are librdkafka's own: see its CONFIGURATION.md"
            raise ConfigError(f"sink.kafka: {text_of(exc)}", remedy=remedy) from exc

    def close(self) -> None:
        """Else it lives, with its threads and connections, until the cycle of client and callback is collected."""
        del self.client

    @property
    def is_refused(self) -> bool:
        return self.complaint is not None and self.complaint.code() in _WRONG_CREDENTIALS

    def answers(self, asked: Mapping[_Key, Future[Any]], seconds: float) -> dict[_Key, Any]:
        """Of questions that every broker answers: no answer means that there is no cluster to work with."""
        answers = self.wait(asked, seconds + 1)
        for answer in answers.values():
            if isinstance(answer, KafkaError) and answer.name() not in (*UNKNOWN_TOPIC, *NO_RIGHT):
                raise self._away(answer)
        return answers

    def read_metadata(self, seconds: float) -> ClusterMetadata:
        """Of the brokers and all topics that we may see. Any broker answers; everything else waits for a controller."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                metadata: ClusterMetadata = self.client.list_topics(timeout=_METADATA_SECONDS)
                return metadata
            except KafkaException as exc:
                error = exc.args[0]
            self.client.poll(0)  # serves error_cb
            if self.is_refused:
                deadline = min(deadline, time.monotonic() + _REFUSED_SECONDS)
            if time.monotonic() > deadline:
                raise self._away(error)

    def wait(self, asked: Mapping[_Key, Future[Any]], seconds: float) -> dict[_Key, Any]:
        """What each came to. Errors are not raised: a future would keep the traceback, and that the client."""
        deadline = time.monotonic() + seconds
        open_count = len(asked)
        while open_count and time.monotonic() < deadline:
            open_count = len(wait(asked.values(), _TURN_SECONDS).not_done)
            self.client.poll(0)  # serves error_cb
            if self.is_refused:
                deadline = min(deadline, time.monotonic() + _REFUSED_SECONDS)
        return {key: _result(future) for key, future in asked.items()}

    def _away(self, answer: KafkaError) -> RelayError:
        if self.complaint is not None and self.is_refused:
            remedy = "check the security settings under sink.kafka: protocol, mechanism, user, password, certificates"
            cause = self.complaint.str() + explain(self.complaint.str(), self._properties)
            return RefusedError(f"Kafka refuses to let us in: {cause}", remedy=remedy)
        cause = (self.complaint or answer).str()
        remedy = "check sink.kafka bootstrap.servers, security settings, and that the brokers run"
        return AwayError(f"Kafka does not answer: {cause}", remedy=remedy)

    def _on_error(self, error: KafkaError) -> None:
        is_summary = error.code() == KafkaError._ALL_BROKERS_DOWN
        if self.complaint is None or not (is_summary or self.is_refused):
            self.complaint = error


def _result(future: Future[Any]) -> Any:
    if not future.done():
        return KafkaError(KafkaError._TIMED_OUT)
    failure = future.exception()
    if failure is None:
        return future.result()
    error = failure.args[0] if failure.args else None
    return error if isinstance(error, KafkaError) else KafkaError(KafkaError._FAIL, str(failure))
