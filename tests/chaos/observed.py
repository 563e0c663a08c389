"""The relay as others see it: Postgres through its views, an operator through /readyz."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.fixtures.fix_relay import Pipeline, RelayProcess
from tests.fixtures.process import wait_until

__all__ = [
    "Walsender",
    "find_walsender",
    "readiness",
    "slot_is_active",
    "wait_for_another_walsender",
    "wait_for_state",
    "wait_for_status_updates",
    "wait_until_readiness",
]


class Walsender(NamedTuple):
    pid: int
    reply_time: object  # when the relay sent the newest status update that the walsender has read; None: none yet
    reply_age_seconds: float | None


def find_walsender(pipeline: Pipeline) -> Walsender | None:
    rows = pipeline.database.execute(
        "SELECT pid, reply_time, extract(epoch FROM clock_timestamp() - reply_time)::float8"
        " FROM pg_stat_replication WHERE application_name = %s",
        [f"cdc-relay:{pipeline.slot}"],
    )
    return Walsender(*rows[0]) if rows else None


def slot_is_active(pipeline: Pipeline) -> bool:
    [(active,)] = pipeline.database.execute(
        "SELECT active FROM pg_replication_slots WHERE slot_name = %s", [pipeline.slot]
    )
    return bool(active)


def wait_for_status_updates(pipeline: Pipeline, count: int, *, timeout: float = 60) -> None:
    """Until Postgres has heard so many status updates more."""
    seen: set[object] = set()

    def are_heard() -> bool:
        walsender = find_walsender(pipeline)
        if walsender is not None and walsender.reply_time is not None:
            seen.add(walsender.reply_time)
        return len(seen) > count

    wait_until(are_heard, timeout=timeout, what=f"Postgres hears {count} status updates")


def wait_for_another_walsender(pipeline: Pipeline, pid: int | None, *, timeout: float = 60) -> int:
    """Until a walsender with another pid serves the relay; its pid."""
    found: list[int] = []

    def is_there() -> bool:
        walsender = find_walsender(pipeline)
        if walsender is None or walsender.pid == pid:
            return False
        found.append(walsender.pid)
        return True

    wait_until(is_there, timeout=timeout, what=f"a walsender other than {pid} serves the relay")
    return found[0]


def readiness(relay: RelayProcess) -> dict[str, Any]:
    """What /readyz says; empty while nobody answers."""
    try:
        return dict(json.loads(relay.get("/readyz")[1]))
    except (OSError, http.client.HTTPException):
        return {}


def wait_until_readiness(
    relay: RelayProcess, condition: Callable[[dict[str, Any]], bool], *, what: str, timeout: float = 60
) -> None:
    def holds() -> bool:
        if not relay.is_running:
            raise RuntimeError(f"the relay ended with {relay.returncode}:\n{relay.stderr}")
        return condition(readiness(relay))

    wait_until(holds, timeout=timeout, what=what)


def wait_for_state(relay: RelayProcess, state: str, *, timeout: float = 60) -> None:
    wait_until_readiness(
        relay, lambda said: said.get("state") == state, timeout=timeout, what=f"/readyz says state {state}"
    )
