"""The properties on which the promises rest cannot be weakened; all others pass."""

from __future__ import annotations

import pytest

from cdc_relay.config.kafka_properties import find_conflicts, normalise

_BROKER = {"bootstrap.servers": "kafka:9092"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("acks", "1"),
        ("acks", "0"),
        ("request.required.acks", "1"),
        ("enable.idempotence", "false"),
        ("message.timeout.ms", "300000"),
        ("delivery.timeout.ms", "120000"),
        ("retries", "3"),
        ("message.send.max.retries", "0"),
        ("max.in.flight", "6"),
        ("max.in.flight.requests.per.connection", "1000000"),
        ("transactional.id", "relay"),
        ("enable.gapless.guarantee", "true"),
        ("delivery.report.only.error", "true"),
        ("error_cb", "print"),
    ],
)
def test_a_setting_that_would_break_a_promise_is_refused_with_the_reason(name: str, value: str) -> None:
    ((found, text),) = find_conflicts({**_BROKER, name: value})
    assert found == name
    assert "owned by the relay" in text
    assert "remove it: " in text


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("acks", "all"),
        ("acks", "-1"),
        ("request.required.acks", "-1"),
        ("enable.idempotence", "True"),
        ("message.timeout.ms", "0"),
        ("max.in.flight", "5"),
        ("max.in.flight.requests.per.connection", "1"),
        ("enable.gapless.guarantee", "false"),
        ("delivery.report.only.error", "false"),
        ("test.mock.broker.rtt", "5"),
        ("linger.ms", "5"),
        ("partitioner", "murmur2_random"),
    ],
)
def test_the_same_strength_and_everything_else_passes(name: str, value: str) -> None:
    assert list(find_conflicts({**_BROKER, name: value})) == []


def test_brokers_are_required_except_for_the_mock_cluster() -> None:
    assert [name for name, _ in find_conflicts({})] == ["bootstrap.servers"]
    assert [name for name, _ in find_conflicts({"bootstrap.servers": " ,"})] == ["bootstrap.servers"]
    assert list(find_conflicts({"metadata.broker.list": "kafka:9092"})) == []
    assert list(find_conflicts({"test.mock.num.brokers": "3"})) == []


def test_brokers_under_both_names_are_refused() -> None:
    assert [name for name, _ in find_conflicts({**_BROKER, "metadata.broker.list": "b:1"})] == ["metadata.broker.list"]


def test_values_become_librdkafkas_strings() -> None:
    assert [normalise(value) for value in (True, False, 5, 0.5, "x")] == ["true", "false", "5", "0.5", "x"]
    with pytest.raises(ValueError, match="flat"):
        normalise({"a": "b"})
