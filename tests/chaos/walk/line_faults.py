"""Faults of the lines between the relay and its servers. Writers and witnesses go around them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.chaos.walk.fault import Fault, Strike, last
from tests.chaos.walk.ground import Ground
from tests.fixtures.proxied_line import DIRECTIONS
from tests.fixtures.proxy import TcpProxy

__all__ = ["LINE_FAULTS"]

Choose = Callable[[Ground], list[TcpProxy]]

TO_POSTGRES, TO_KAFKA = "line to Postgres", "lines to Kafka"
TRUNCATE_WITHIN_BYTES = 50_000
SLOW_BYTES_PER_SECOND = 20_000.0


def postgres_lines(ground: Ground) -> list[TcpProxy]:
    return list(ground.postgres_lines)


def kafka_lines(ground: Ground) -> list[TcpProxy]:
    return list(ground.cluster.lines.values())


@contextmanager
def weather(lines: list[TcpProxy]) -> Iterator[list[TcpProxy]]:
    """Fine again at the end, whatever was done to them."""
    try:
        yield lines
    finally:
        for line in lines:
            line.calm()


def cut(choose: Choose) -> Strike:
    def strike(ground: Ground, rng: random.Random) -> None:
        for _ in range(rng.randint(1, 4)):
            for line in choose(ground):
                line.cut()
            last(rng, 0.2, 2)

    return strike


def stall(choose: Choose) -> Strike:
    """In one direction or both, shorter and longer than the silence that is taken for death."""

    def strike(ground: Ground, rng: random.Random) -> None:
        with weather(choose(ground)) as lines:
            direction = rng.choice([*DIRECTIONS, None])
            for line in lines:
                line.stall(direction)
            last(rng, 1, 10)

    return strike


def delay(choose: Choose) -> Strike:
    def strike(ground: Ground, rng: random.Random) -> None:
        with weather(choose(ground)) as lines:
            for line in lines:
                line.delay(rng.uniform(0.05, 0.8))
            last(rng, 2, 6)

    return strike


def throttle(choose: Choose) -> Strike:
    def strike(ground: Ground, rng: random.Random) -> None:
        with weather(choose(ground)) as lines:
            for line in lines:
                line.throttle(SLOW_BYTES_PER_SECOND)
            last(rng, 2, 6)

    return strike


def truncate(choose: Choose) -> Strike:
    """In the middle of a frame."""

    def strike(ground: Ground, rng: random.Random) -> None:
        with weather(choose(ground)) as lines:
            for _ in range(rng.randint(1, 3)):
                for line in lines:
                    line.truncate_after(rng.randint(1, TRUNCATE_WITHIN_BYTES), rng.choice(DIRECTIONS))
                last(rng, 0.5, 3)

    return strike


def refuse(choose: Choose) -> Strike:
    def strike(ground: Ground, rng: random.Random) -> None:
        with weather(choose(ground)) as lines:
            for line in lines:
                line.refuse()
                line.cut()
            last(rng, 1, 6)

    return strike


def change_host(ground: Ground, rng: random.Random) -> None:
    """The connection string has two: each in turn does not answer."""
    for line in rng.sample(ground.postgres_lines, 2):
        with weather([line]):
            line.refuse()
            line.cut()
            last(rng, 1, 4)


WAYS: dict[str, Callable[[Choose], Strike]] = {
    "cut": cut,
    "stalled": stall,
    "slow by delay": delay,
    "slow by throughput": throttle,
    "cut in mid-frame": truncate,
    "refused": refuse,
}

LINE_FAULTS = (
    *(Fault(f"{TO_POSTGRES} {name}", (TO_POSTGRES,), way(postgres_lines)) for name, way in WAYS.items()),
    *(Fault(f"{TO_KAFKA} {name}", (TO_KAFKA,), way(kafka_lines)) for name, way in WAYS.items()),
    Fault("another host of Postgres", (TO_POSTGRES,), change_host),
)
