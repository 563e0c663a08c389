"""Which producer is built: the compiled one, unless librdkafka is another or only its Python client can do it."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from cdc_relay.config import SinkConfig
from cdc_relay.native import is_native
from cdc_relay.sinks import librdkafka, producers
from cdc_relay.sinks.client_producer import ClientProducer
from cdc_relay.sinks.librdkafka import find_native_producer
from cdc_relay.sinks.producers import build_producer, find_detour, producer_properties
from cdc_relay.wiring import make_sink

NOWHERE = {"bootstrap.servers": "127.0.0.1:1"}


def is_clients(**properties: str) -> bool:
    named = {name.replace("_", "."): value for name, value in properties.items()}
    producer = build_producer(producer_properties({**NOWHERE, **named}), fail=print, on_error=print)
    return isinstance(producer, ClientProducer)


def test_the_compiled_producer_is_used_where_it_is_there() -> None:
    assert is_clients() == (not is_native)


def test_tokens_are_left_to_the_client_which_fetches_them() -> None:
    assert is_clients(
        security_protocol="SASL_PLAINTEXT", sasl_mechanism="OAUTHBEARER", sasl_oauthbearer_config="principal=relay"
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("_KNOWN_MAJORS", (1,), id="another major version"),
        pytest.param("_PREFIX", "rd_kafka_no_such_", id="a function that it lacks"),
    ],
)
def test_a_library_that_we_do_not_know_is_left_to_the_client(
    monkeypatch: pytest.MonkeyPatch, name: str, value: object
) -> None:
    monkeypatch.setattr(librdkafka, name, value)
    assert find_native_producer.__wrapped__() is None


@pytest.mark.parametrize("name", ["sasl.oauthbearer.method", "plugin.library.paths"])
def test_a_property_that_takes_the_client_is_named(name: str) -> None:
    assert find_detour({**NOWHERE, name: "x"}) == f"{name} is set"


def test_a_library_that_is_not_known_is_told_from_a_part_that_is_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(producers, "find_native_producer", lambda: None)
    monkeypatch.setattr(producers, "is_native", True)
    assert find_detour(NOWHERE) == "the compiled part does not know this librdkafka"
    monkeypatch.setattr(producers, "is_native", False)
    assert find_detour(NOWHERE) == "the compiled part is not in use"


@pytest.mark.skipif(not is_native, reason="a detour in any case")
@pytest.mark.parametrize(
    ("properties", "reasons"),
    [({}, []), ({"sasl.oauthbearer.config": "principal=relay"}, ["sasl.oauthbearer.config is set"])],
)
def test_a_detour_is_told_in_the_log(properties: dict[str, str], reasons: list[str]) -> None:
    with capture_logs() as lines:
        make_sink(SinkConfig(kafka={**NOWHERE, **properties}), fixed_topics=()).close()
    assert [line["reason"] for line in lines if line["event"] == "kafka_detour"] == reasons
