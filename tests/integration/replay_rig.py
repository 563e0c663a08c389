"""`cdc-relay replay` and `setup --backfill` as processes, and what their records and their run say."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from confluent_kafka import Message

from tests.fixtures.fix_relay import MakeRelay, Pipeline
from tests.fixtures.relay_process import Config, RelayProcess

__all__ = [
    "backfill",
    "header_of",
    "id_of",
    "ids_of",
    "insert_rows",
    "marks",
    "replay",
    "run_rows",
    "start_backfill",
    "start_replay",
    "summary",
    "without_slot",
]

HEADER = "cdc-relay-replay"


def start_replay(make_relay: MakeRelay, pipeline: Pipeline, *arguments: str, **config: Any) -> RelayProcess:
    """As the relay's role, with the right that docs/replay.md gives it beside its own."""
    pipeline.database.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {pipeline.role}")
    return make_relay(pipeline.config(**config), "--yes", "--json", *arguments, command="replay")


def owners_config(pipeline: Pipeline, overrides: dict[str, Any]) -> Config:
    """The role of `run` may make no slot and no schema; a test that has a role of its own names it in a DSN."""
    return pipeline.config(**{"dsn": pipeline.database.dsn(), **overrides})


def replay(make_relay: MakeRelay, pipeline: Pipeline, *arguments: str, code: int = 0, **config: Any) -> RelayProcess:
    process = start_replay(make_relay, pipeline, *arguments, **config)
    assert process.wait(120) == code, process.stderr + process.stdout
    return process


def summary(process: RelayProcess) -> dict[str, Any]:
    return dict(json.loads(process.stdout))


def insert_rows(pipeline: Pipeline, count: int) -> list[str]:
    """Each its own transaction; their ids in the order of the inserts."""
    return [pipeline.insert(f"k{number % 3}") for number in range(count)]


def header_of(record: Message, name: str = HEADER) -> str | None:
    found = dict(record.headers() or []).get(name)
    return found.decode() if isinstance(found, bytes) else None


def id_of(record: Message) -> str:
    return str(json.loads(record.value() or b"")["id"])


def ids_of(records: list[Message]) -> list[str]:
    return [id_of(record) for record in records]


def marks(records: list[Message]) -> set[str | None]:
    return {header_of(record) for record in records}


def without_slot(pipeline: Pipeline) -> Pipeline:
    """As before the first setup, but for the table and its rows."""
    pipeline.database.execute(f"SELECT pg_drop_replication_slot('{pipeline.slot}')")
    pipeline.database.execute(f"DROP PUBLICATION {pipeline.publication}")
    pipeline.database.execute("DROP SCHEMA cdc_relay CASCADE")
    return pipeline


def start_backfill(
    make_relay: MakeRelay, pipeline: Pipeline, *arguments: str, env: Mapping[str, str] = {}, **config: Any
) -> RelayProcess:
    return make_relay(owners_config(pipeline, config), "--backfill", *arguments, command="setup", env=env)


def backfill(make_relay: MakeRelay, pipeline: Pipeline, *arguments: str, code: int = 0, **config: Any) -> RelayProcess:
    process = start_backfill(make_relay, pipeline, *arguments, **config)
    assert process.wait(120) == code, process.stderr + process.stdout
    if code == 0:
        pipeline.database.grant_schema(pipeline.role)  # the schema is new: as docs/privileges.md says
    return process


def run_rows(pipeline: Pipeline, columns: str = "state") -> list[tuple[Any, ...]]:
    return pipeline.database.execute(f"SELECT {columns} FROM cdc_relay.replays ORDER BY began_at")
