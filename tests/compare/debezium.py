"""What a real Debezium makes of a case's rows, one after the other: a record, or the reason why its task ended."""

from __future__ import annotations

import re
import time

import psycopg
from confluent_kafka import Message

from tests.compare.case import Case
from tests.compare.ground import Place, Reader, headers_of
from tests.compare.wire import Outcome, Stopped
from tests.fixtures.process import wait_until

__all__ = ["VERSION", "record_debezium"]

VERSION = "3.2.7.Final"
PATIENCE_SECONDS = 60

_CONNECTOR = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "tasks.max": "1",
    "plugin.name": "pgoutput",
    "publication.autocreate.mode": "disabled",
    "snapshot.mode": "no_data",
    "tombstones.on.delete": "false",
    "extended.headers.enabled": "false",
    "topic.prefix": "compare",
    "poll.interval.ms": "10",
    "transforms": "outbox",
    "transforms.outbox.type": "io.debezium.transforms.outbox.EventRouter",
}


def record_debezium(place: Place) -> dict[str, Outcome]:
    """A task that ended is followed by a new connector on a new slot, behind the row that ended it."""
    outcomes: dict[str, Outcome] = {}
    reader = place.reader()
    try:
        while rows := [row for row in place.case.rows if row not in outcomes]:
            _run_connector(place, reader, rows, outcomes)
    finally:
        reader.close()
    return outcomes


def _run_connector(place: Place, reader: Reader, rows: list[str], outcomes: dict[str, Outcome]) -> None:
    name = f"debezium_{place.case.name}_{len(outcomes)}"
    place.ground.make_slot(name)
    place.ground.connect.create(name, connector_config(place, name))
    try:
        _wait_for_stream(place, name)
        for row in rows:
            place.insert(row)
            outcomes[row] = _wait_for_outcome(place, reader, name, row)
            if isinstance(outcomes[row], Stopped):
                return
    finally:
        place.ground.connect.delete(name)
        _drop_slot(place, name)


def connector_config(place: Place, slot: str) -> dict[str, str]:
    case, database = place.case, place.ground.database
    return {
        **_CONNECTOR,
        "database.hostname": "127.0.0.1",
        "database.port": str(database.server.port),
        "database.user": "postgres",
        "database.password": "not asked for",
        "database.dbname": database.name,
        "slot.name": slot,
        "publication.name": case.name,
        "table.include.list": f"public.{case.name}",
        **case.connector,
        **{f"transforms.outbox.{name}": value for name, value in case.router.items()},
    }


def _wait_for_stream(place: Place, slot: str) -> None:
    """Rows that were committed before would be skipped: without a snapshot Debezium starts at the current position."""

    def is_read() -> bool:
        if failure := place.ground.connect.failure_of(slot):
            raise RuntimeError(f"Debezium refuses case {place.case.name}:\n{failure}")
        query = "SELECT active FROM pg_replication_slots WHERE slot_name = %s"
        return place.ground.database.execute(query, [slot]) == [(True,)]

    wait_until(is_read, timeout=PATIENCE_SECONDS, what=f"Debezium reads slot {slot}", every=0.1)


def _wait_for_outcome(place: Place, reader: Reader, connector: str, row: str) -> Outcome:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if (message := reader.poll()) is not None:
            _check_identity(place.case, row, message)
            return place.wire(message, row)
        if failure := place.ground.connect.failure_of(connector):
            return Stopped(_root_cause(failure))
    raise TimeoutError(f"Debezium did nothing with {place.case.name}/{row} for {PATIENCE_SECONDS} s")


def _check_identity(case: Case, row: str, message: Message) -> None:
    headers = dict(headers_of(message))
    if headers.get("id") != case.event_id(row).encode():
        raise RuntimeError(f"a record that is not {case.name}/{row} came for it: id {headers.get('id')!r}")


def _root_cause(trace: str) -> str:
    """Exception and message of the innermost cause, without addresses of objects in memory."""
    causes = re.findall(r"^(?:Caused by: )?([\w.$]+(?:Exception|Error)\b.*)$", trace, re.MULTILINE)
    return re.sub(r"@[0-9a-f]{5,8}\b", "@…", causes[-1] if causes else trace.splitlines()[0])


def _drop_slot(place: Place, slot: str) -> None:
    def is_dropped() -> bool:
        try:
            place.ground.database.execute("SELECT pg_drop_replication_slot(%s)", [slot])
        except psycopg.errors.ObjectInUse:
            return False
        return True

    wait_until(is_dropped, timeout=PATIENCE_SECONDS, what=f"Debezium leaves slot {slot}")
