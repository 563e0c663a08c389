"""What a relay says of itself while it waits, and that it delivers afterwards."""

from __future__ import annotations

import http.client
import json
from typing import Any

from tests.fixtures.fix_relay import Pipeline, RelayProcess
from tests.fixtures.process import wait_until

__all__ = ["assert_it_delivers", "readiness", "wait_for_state"]


def readiness(relay: RelayProcess) -> tuple[int, dict[str, Any]]:
    try:
        status, body = relay.get("/readyz")
    except (OSError, http.client.HTTPException):
        return 0, {}
    return status, json.loads(body)


def wait_for_state(relay: RelayProcess, state: str) -> None:
    def is_there() -> bool:
        if not relay.is_running:
            raise RuntimeError(f"the relay ended with {relay.returncode}:\n{relay.stderr}")
        return readiness(relay)[1].get("state") == state

    wait_until(is_there, timeout=60, what=f"the relay is {state}")


def assert_it_delivers(pipeline: Pipeline, event_id: str) -> None:
    """As the newest record."""

    def is_there() -> bool:
        return any(record.headers() == [("id", event_id.encode())] for record in pipeline.records())

    wait_until(is_there, timeout=60, what=f"event {event_id} is on the topic")
