"""What the producer is built with: what the promises rest on, then the YAML, then our better defaults."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer
from hypothesis import given
from hypothesis import strategies as st

from cdc_relay.config.kafka_properties import OWNED
from cdc_relay.errors import ConfigError
from cdc_relay.sinks.kafka import KafkaSink
from cdc_relay.sinks.producers import alone_properties, producer_properties

PROMISED = {"acks": "all", "enable.idempotence": "true", "message.timeout.ms": "0"}
NAMES = st.sampled_from(["acks", "linger.ms", "client.id", "compression.type", "message.timeout.ms", "batch.size"])


@given(st.dictionaries(NAMES, st.text(max_size=5)))
def test_what_the_promises_rest_on_wins_over_everything(configured: dict[str, str]) -> None:
    assert producer_properties(configured).items() >= PROMISED.items()


@given(st.dictionaries(NAMES, st.text(max_size=5)))
def test_everything_else_passes_through_as_it_was_written(configured: dict[str, str]) -> None:
    free = {name: value for name, value in configured.items() if name not in PROMISED}
    assert producer_properties(configured).items() >= free.items()


@pytest.mark.parametrize("name", sorted(name for name in OWNED if OWNED[name].accepted))
def test_a_promise_may_be_written_down_in_the_yaml_under_any_of_its_names(name: str) -> None:
    for value in OWNED[name].accepted:
        Producer(dict(producer_properties({"bootstrap.servers": "127.0.0.1:1", name: value})))  # raises otherwise


@pytest.mark.parametrize("name", ["client.id", "partitioner", "linger.ms", "queue.buffering.max.messages", "log_level"])
def test_a_default_may_be_overridden(name: str) -> None:
    assert producer_properties({})[name] != "7"
    assert producer_properties({name: "7"})[name] == "7"


def test_an_alias_is_not_undone_by_our_default() -> None:
    properties = producer_properties({"queue.buffering.max.ms": "5"})
    assert properties["queue.buffering.max.ms"] == "5"
    assert "linger.ms" not in properties


def test_a_key_goes_where_java_would_put_it() -> None:
    assert producer_properties({})["partitioner"] == "murmur2_random"


def test_a_missing_topic_is_told_before_the_patience_with_a_topic_ends() -> None:
    assert int(producer_properties({})["topic.metadata.propagation.max.ms"]) < 30_000


@given(st.dictionaries(NAMES, st.text(max_size=5)))
def test_what_travels_alone_keeps_the_same_promises(configured: dict[str, str]) -> None:
    together = producer_properties(configured)
    alone = alone_properties(together)
    differences = {name for name in together | alone if together.get(name) != alone.get(name)}
    assert differences <= {
        "batch.num.messages",
        "linger.ms",
        "queue.buffering.max.ms",
        "enable.idempotence",
        "statistics.interval.ms",
    }
    assert alone["acks"] == "all"


def test_no_configured_batch_puts_two_records_together_that_travel_alone() -> None:
    assert alone_properties(producer_properties({"batch.num.messages": "500"}))["batch.num.messages"] == "1"


def test_the_configured_mapping_is_not_changed() -> None:
    configured = {"bootstrap.servers": "kafka:9092"}
    producer_properties(configured)
    assert configured == {"bootstrap.servers": "kafka:9092"}


def test_librdkafka_takes_our_defaults_as_they_are() -> None:
    properties = producer_properties({"bootstrap.servers": "127.0.0.1:1"})
    Producer(dict(properties))  # raises otherwise
    Producer(dict(alone_properties(properties)))


def test_a_property_that_librdkafka_does_not_know_is_a_configuration_error() -> None:
    with pytest.raises(ConfigError, match=r"no\.such\.thing") as raised:
        KafkaSink({"bootstrap.servers": "127.0.0.1:1", "no.such.thing": "1"})
    assert "CONFIGURATION.md" in raised.value.remedy


def test_a_value_that_librdkafka_refuses_is_a_configuration_error_without_secrets() -> None:
    with pytest.raises(ConfigError) as raised:
        KafkaSink({"bootstrap.servers": "127.0.0.1:1", "batch.size": "huge", "sasl.password": "sesame"})
    assert "batch.size" in str(raised.value)
    assert "sesame" not in str(raised.value)


def test_a_value_of_the_wrong_python_type_is_a_configuration_error() -> None:
    """The Python client wants some values as objects; a file has only text."""
    with pytest.raises(ConfigError, match="oauth_cb"):
        KafkaSink({"bootstrap.servers": "127.0.0.1:1", "oauth_cb": "print"})
