"""The benches by name: every sink there is, those whose records can be read back, and those of Kafka."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cdc_relay.sinks import produce_call
from tests.contract.sinks import Bench, FakeBench, KafkaBench, LogBench, NoneBench, Readable
from tests.fixtures.kafka_broker import Kafka, MockKafka

FAKE, LOG, NONE = pytest.param("fake"), pytest.param("log"), pytest.param("none")
MOCK = pytest.param("mock", marks=pytest.mark.kafka)
BY_NAME = pytest.param(
    "by name", marks=pytest.mark.kafka
)  # a client that does not take produce()'s arguments by position
REAL = pytest.param("real", marks=[pytest.mark.kafka, pytest.mark.real_kafka])


@pytest.fixture(scope="module")
def mock_kafka() -> MockKafka:
    return MockKafka()


def readable_bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Readable]:
    if request.param in ("fake", "log"):
        yield FakeBench() if request.param == "fake" else LogBench(tmp_path / "log")
        return
    kafka_bench = KafkaBench(request.getfixturevalue({"mock": "mock_kafka", "real": "kafka"}[request.param]))
    yield kafka_bench
    kafka_bench.close()


@pytest.fixture(params=[FAKE, LOG, MOCK, BY_NAME, REAL])
def readable(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Readable]:
    if request.param == "by name":
        monkeypatch.setattr(produce_call, "_client_takes_positions", lambda: False)
        request.param = "mock"
    yield from readable_bench(request, tmp_path)


@pytest.fixture(params=[FAKE, LOG, NONE, MOCK, REAL])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    if request.param == "none":
        yield NoneBench()
    else:
        yield from readable_bench(request, tmp_path)


@pytest.fixture(params=[MOCK, REAL])
def brokers(request: pytest.FixtureRequest) -> Iterator[KafkaBench]:
    kafka: Kafka = request.getfixturevalue({"mock": "mock_kafka", "real": "kafka"}[request.param])
    kafka_bench = KafkaBench(kafka)
    yield kafka_bench
    kafka_bench.close()
