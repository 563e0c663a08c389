"""Faults of Postgres: crashes, restarts, sessions that are ended."""

from __future__ import annotations

import random

from tests.chaos.walk.fault import Fault, last
from tests.chaos.walk.ground import Ground

__all__ = ["postgres_faults"]

VICTIMS = ("postgres",)
KEEPS_POSITIONS_SINCE = 17  # a shutdown writes down what every slot has confirmed
OURS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE %s"


def stop_immediately(ground: Ground, rng: random.Random) -> None:
    ground.server.stop("immediate")
    last(rng, 0, 3)
    ground.server.start()


def kill(ground: Ground, rng: random.Random) -> None:
    ground.server.kill()
    last(rng, 0, 3)
    ground.server.start()


def restart(ground: Ground, rng: random.Random) -> None:
    ground.server.stop("fast")
    last(rng, 0, 3)
    ground.server.start()


def end_walsender(ground: Ground, rng: random.Random) -> None:
    for _ in range(rng.randint(1, 3)):
        ground.database.terminate_walsenders()
        last(rng, 0.5, 2)


def end_sessions(ground: Ground, rng: random.Random) -> None:
    """All of the relay's: stream, catalog, guard and lot."""
    ground.database.execute(OURS, [f"cdc-relay:{ground.pipeline.slot}%"])
    last(rng, 0.5, 2)


def postgres_faults(version: int) -> tuple[Fault, ...]:
    return (
        Fault("Postgres shut down at once", VICTIMS, stop_immediately, rewinds=True),
        Fault("Postgres killed", VICTIMS, kill, rewinds=True),
        Fault("Postgres restarted", VICTIMS, restart, rewinds=version < KEEPS_POSITIONS_SINCE),
        Fault("walsender ended", VICTIMS, end_walsender),
        Fault("all of its sessions ended", VICTIMS, end_sessions),
    )
