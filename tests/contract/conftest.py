"""The benches by name: every sink there is, those whose records can be read back, and those of Kafka."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cdc_relay.sinks import produce_call, producers
from tests.contract.sinks import Bench, FakeBench, KafkaBench, LogBench, NoneBench, Readable
from tests.fixtures.kafka_broker import Kafka, MockKafka

FAKE, LOG, NONE = pytest.param("fake"), pytest.param("log"), pytest.param("none")
MOCK = pytest.param("mock", marks=pytest.mark.kafka)
CLIENT = pytest.param("client", marks=pytest.mark.kafka)  # librdkafka's Python client, where ours is not compiled
BY_NAME = pytest.param("by name", marks=pytest.mark.kafka)  # one that does not take produce()'s arguments by position
REAL = pytest.param("real", marks=[pytest.mark.kafka, pytest.mark.real_kafka])


@pytest.fixture(scope="module")
def mock_kafka() -> MockKafka:
    return MockKafka()


def readable_bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Readable]:
    if request.param in ("fake", "log"):
        yield FakeBench() if request.param == "fake" else LogBench(tmp_path / "log")
    else:
        yield from kafka_bench(request)


def kafka_bench(request: pytest.FixtureRequest) -> Iterator[KafkaBench]:
    kafka: Kafka = request.getfixturevalue("kafka" if request.param == "real" else "mock_kafka")
    monkeypatch: pytest.MonkeyPatch = request.getfixturevalue("monkeypatch")
    if request.param in ("client", "by name"):
        monkeypatch.setattr(producers, "find_native_producer", lambda: None)
    if request.param == "by name":
        monkeypatch.setattr(produce_call, "_client_takes_positions", lambda: False)
    made = KafkaBench(kafka)
    yield made
    made.close()


@pytest.fixture(params=[FAKE, LOG, MOCK, CLIENT, BY_NAME, REAL])
def readable(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Readable]:
    yield from readable_bench(request, tmp_path)


@pytest.fixture(params=[FAKE, LOG, NONE, MOCK, CLIENT, REAL])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    if request.param == "none":
        yield NoneBench()
    else:
        yield from readable_bench(request, tmp_path)


@pytest.fixture(params=[MOCK, CLIENT, REAL])
def brokers(request: pytest.FixtureRequest) -> Iterator[KafkaBench]:
    yield from kafka_bench(request)
