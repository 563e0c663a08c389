"""Faults of the relay's own process: killed, killed again while it starts, asked to stop, paused."""

from __future__ import annotations

import random

from tests.chaos.walk.fault import Fault, last
from tests.chaos.walk.ground import Ground

__all__ = ["RELAY_FAULTS"]

VICTIMS = ("relay",)
DRAINED_OR_NOT = (0, 1)  # with a broker away there may be something left: it says so and exits with 1
STOP_SECONDS = 90.0


def kill(ground: Ground, rng: random.Random) -> None:
    ground.relay.kill()
    last(rng, 0, 2)
    ground.relay.start()


def kill_thrice(ground: Ground, rng: random.Random) -> None:
    """Some of them before it streams."""
    for _ in range(3):
        ground.relay.kill()
        ground.relay.start()
        last(rng, 0, 2)


def stop(ground: Ground, rng: random.Random) -> None:
    code = ground.relay.stop(timeout=STOP_SECONDS)
    if code not in DRAINED_OR_NOT:
        raise AssertionError(f"a stop ended with {code}:\n{ground.relay.stderr[-2000:]}")
    last(rng, 0, 2)
    ground.relay.start()


def pause(ground: Ground, rng: random.Random) -> None:
    """Shorter and longer than Postgres keeps the line."""
    ground.relay.pause()
    last(rng, 1, 10)
    ground.relay.resume()


RELAY_FAULTS = (
    Fault("relay killed", VICTIMS, kill),
    Fault("relay killed three times", VICTIMS, kill_thrice),
    Fault("relay stopped", VICTIMS, stop),
    Fault("relay paused", VICTIMS, pause, leaves_stale=True),
)
