"""How librdkafka's producers are built: what the promises rest on, what the YAML says, and our better defaults."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from confluent_kafka import KafkaError, KafkaException

from cdc_relay.errors import ConfigError
from cdc_relay.native import is_native
from cdc_relay.sinks.client_producer import ClientProducer
from cdc_relay.sinks.librdkafka import find_native_producer
from cdc_relay.sinks.producer import Fail, Producer

__all__ = ["admin_properties", "alone_properties", "build_producer", "find_detour", "producer_properties", "text_of"]

_client_log = logging.getLogger("librdkafka")  # else it prints on stderr by itself

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
    "topic.metadata.refresh.interval.ms": "30000",  # when partitions that were added are seen; it was 5 min
    "topic.metadata.propagation.max.ms": "5000",  # how long a missing topic may be about to appear; it was 30 s
    "request.timeout.ms": "5000",  # a topic below its min ISR holds up its whole connection for so long; it was 30 s
    # A refused batch makes those behind it wait for so long: at 100 ms a topic with bad records got half the rate.
    "retry.backoff.ms": "2",
    "retry.backoff.max.ms": "100",
    "statistics.interval.ms": "10000",  # for /metrics; the text is parsed only when it is read
    "log_level": "0",  # error_cb tells what matters
    "socket.keepalive.enable": "true",
    # librdkafka waits up to so long before the first connection to each broker too: 44 ms more of a start with 100.
    "reconnect.backoff.ms": "10",
    "reconnect.backoff.max.ms": "2000",
}
# librdkafka applies properties in the order given: a default must not undo what its alias says.
_ALIASES = {"linger.ms": "queue.buffering.max.ms"}


def producer_properties(configured: Mapping[str, str]) -> dict[str, str]:
    defaults = {name: value for name, value in _DEFAULTS.items() if _ALIASES.get(name) not in configured}
    properties = defaults | dict(configured) | _OWNED
    properties.pop("delivery.report.only.error", None)  # false, as configuration checks; the client takes no text here
    return properties


# Tokens that the client itself fetches, and plugins, which it loads before everything else.
_OF_THE_CLIENT = ("sasl.oauthbearer.", "plugin.")

# A refusal makes an idempotent producer wait for what is in flight and begin a new epoch (decision 0012). Its
# outlet keeps the order; a lost connection may repeat a record.
_ALONE = {
    "batch.num.messages": "1",
    "linger.ms": "0",  # nothing will join it: no sense in waiting
    "enable.idempotence": "false",
    "statistics.interval.ms": "0",
}


def alone_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Of a producer that gives each record a batch of its own."""
    return {name: value for name, value in properties.items() if name not in _ALIASES.values()} | _ALONE


def admin_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Of a client that only asks: a producer's identity would need rights of its own, and nobody serves its log."""
    asked = {name: value for name, value in properties.items() if name != "debug"}
    return asked | {"enable.idempotence": "false", "log_level": "0"}


def build_producer(
    properties: Mapping[str, str],
    *,
    fail: Fail,
    on_error: Callable[[KafkaError], None],
    on_statistics: Callable[[str], None] | None = None,
) -> Producer:
    native = None if find_detour(properties) else find_native_producer()
    make: Callable[..., Producer] = native or ClientProducer
    try:
        return make(dict(properties), fail=fail, on_error=on_error, on_statistics=on_statistics, logger=_client_log)
    except (KafkaException, TypeError, ValueError) as exc:
        raise ConfigError(
            f"sink.kafka: {text_of(exc)}",
            remedy="the names and values are librdkafka's own: see its CONFIGURATION.md",
        ) from exc


def find_detour(properties: Mapping[str, str]) -> str:
    """Why records go through the Python client, which costs several times as much; nothing where they do not."""
    for name in sorted(properties):
        if name.startswith(_OF_THE_CLIENT):
            return f"{name} is set"
    if find_native_producer() is not None:
        return ""
    return "the compiled part does not know this librdkafka" if is_native else "the compiled part is not in use"


def text_of(exc: Exception) -> str:
    error = exc.args[0] if exc.args else exc
    return error.str() if isinstance(error, KafkaError) else str(error)
