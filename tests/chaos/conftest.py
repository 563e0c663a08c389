"""What the chaos tests share: a seed for the run, and a broker of their own that they may freeze, kill and cut off."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.fix_proxy import TcpProxy
from tests.fixtures.kafka_broker import KafkaBroker
from tests.fixtures.kafka_jars import find_jars

SEED_VARIABLE = "CHAOS_SEED"
SEED = pytest.StashKey[int]()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if (seed := config.stash.get(SEED, None)) is not None:
        terminalreporter.line(f"Chaos: the seed was {seed}; {SEED_VARIABLE}={seed} makes the same choices again.")


@pytest.fixture(scope="session")
def seed(pytestconfig: pytest.Config) -> int:
    given = os.environ.get(SEED_VARIABLE)
    return pytestconfig.stash.setdefault(SEED, int(given) if given else random.SystemRandom().getrandbits(32))


@pytest.fixture
def rng(seed: int, request: pytest.FixtureRequest) -> random.Random:
    """Its choices depend on the seed and on the test alone, not on which tests ran before."""
    print(f"{SEED_VARIABLE}={seed}")
    return random.Random(f"{seed} {request.node.name}")


@pytest.fixture(scope="session")
def _mortal() -> Iterator[tuple[KafkaBroker, TcpProxy]]:
    jars = find_jars()
    assert isinstance(jars, Path)  # the mark real_kafka has seen to it
    proxy = TcpProxy()
    broker = KafkaBroker(jars, proxy_port=proxy.port)
    proxy.retarget("127.0.0.1", broker.behind_proxy_port)
    try:
        broker.start()
        yield broker, proxy
    finally:
        broker.destroy()
        proxy.close()


@pytest.fixture
def mortal_kafka(_mortal: tuple[KafkaBroker, TcpProxy]) -> Iterator[KafkaBroker]:
    """A real broker to freeze, kill and restart; well again after the test. Needs the mark real_kafka."""
    broker, _ = _mortal
    yield broker
    if broker.is_running:
        broker.thaw()
    else:
        broker.start()


@pytest.fixture
def kafka_proxy(_mortal: tuple[KafkaBroker, TcpProxy]) -> Iterator[TcpProxy]:
    """The proxy to `mortal_kafka`: a relay with bootstrap=kafka_proxy.address never goes around it."""
    _, proxy = _mortal
    yield proxy
    proxy.accept()
    proxy.resume()
    proxy.delay(0)
