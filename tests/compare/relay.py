"""What the relay makes of a case's rows: the real process over the same table, and the records it publishes."""

from __future__ import annotations

import time
from pathlib import Path

from tests.compare.ground import Place, Reader, headers_of
from tests.compare.wire import Outcome, Stopped
from tests.fixtures.parked import parked
from tests.fixtures.relay_process import Config, RelayProcess, relay_config

__all__ = ["RefusedConfigError", "record_relay"]

PATIENCE_SECONDS = 60
CONFIGURATION_ERROR = 2  # exit code


class RefusedConfigError(Exception):
    """The relay does not take this case's configuration."""


def record_relay(place: Place, directory: Path) -> dict[str, Outcome]:
    """After Debezium's run: the reader passes what is on the topic already."""
    relay = RelayProcess(config_of(place), directory)
    reader = place.reader()
    try:
        relay.start()
        return _collect(place, relay, reader)
    finally:
        reader.close()
        relay.kill()


def config_of(place: Place) -> Config:
    case, ground = place.case, place.ground
    slot, dsn = place.relay_slot, ground.database.dsn()
    config = relay_config(dsn, slot, case.name, f"public.{case.name}", ground.kafka.bootstrap)
    return {**config, "outboxes": [case.outbox_config()]}


def _collect(place: Place, relay: RelayProcess, reader: Reader) -> dict[str, Outcome]:
    rows = {place.case.event_id(row): row for row in place.case.rows}
    outcomes: dict[str, Outcome] = {}
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(outcomes) < len(rows) and time.monotonic() < deadline:
        if not relay.is_running:
            raise _refusal(relay)
        if (message := reader.poll()) is not None:
            row = rows[(dict(headers_of(message))["id"] or b"").decode()]
            outcomes[row] = place.wire(message, row)
        else:
            outcomes |= {rows[name]: Stopped(f"parked: {code}") for name, code in _parked(place)}
    if missing := sorted(place.case.rows.keys() - outcomes.keys()):
        raise TimeoutError(f"the relay did nothing with {place.case.name}: {missing}\n{relay.stderr}")
    return outcomes


def _parked(place: Place) -> list[tuple[str, str]]:
    where = f"slot = '{place.relay_slot}'"
    return [(name, code) for name, code in parked(place.ground.database, "event_id, error_code", where=where)]


def _refusal(relay: RelayProcess) -> Exception:
    if relay.returncode == CONFIGURATION_ERROR:
        return RefusedConfigError(relay.stderr.strip())
    return RuntimeError(f"the relay ended with {relay.returncode}:\n{relay.stderr}")
