"""A relay whose lot is behind a proxy, and what is seen of the relay while it holds."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import psycopg

from tests.fixtures.fix_postgres import Database
from tests.fixtures.fix_proxy import TcpProxy
from tests.fixtures.fix_relay import Pipeline, RelayProcess
from tests.fixtures.outbox import insert_event
from tests.fixtures.parked import readiness
from tests.fixtures.process import wait_until

__all__ = ["RAISE", "TABLE", "Ground", "hear_status_updates", "wait_confirmed", "wait_holding", "wait_streaming"]

TABLE = "cdc_relay.parked_records"
RAISE = """
CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '{sqlstate}'; END $$;
CREATE TRIGGER refuse BEFORE {event} ON cdc_relay.parked_records FOR EACH ROW {when} EXECUTE FUNCTION public.refuse()
"""
REPLY_TIME = """
SELECT r.reply_time FROM pg_stat_replication r JOIN pg_replication_slots s ON s.active_pid = r.pid WHERE slot_name = %s
"""


@dataclass
class Ground:
    """A pipeline whose relay reaches its lot through a proxy."""

    pipeline: Pipeline
    proxy: TcpProxy
    locks: list[psycopg.Connection[Any]] = field(default_factory=list)

    @property
    def role(self) -> str:
        return self.pipeline.role

    @property
    def database(self) -> Database:
        return self.pipeline.database

    def start(self, **config: Any) -> RelayProcess:
        lot = {"dsn": self.pipeline.dsn(port=self.proxy.port)}
        config["parking"] = {**lot, **config.get("parking", {})}
        return self.pipeline.start_relay(**config)

    def insert_bad(self, count: int = 1) -> list[str]:
        with self.database.connect() as conn:
            return [insert_event(conn, "not/allowed") for _ in range(count)]

    def insert_good(self, count: int) -> list[str]:
        with self.database.connect() as conn:
            return [insert_event(conn, self.pipeline.aggregate_type) for _ in range(count)]

    def delivered(self) -> list[str]:
        return [json.loads(record.value() or b"")["id"] for record in self.pipeline.records()]

    def lock(self) -> None:
        conn = self.database.connect(autocommit=False)
        conn.execute(f"LOCK TABLE {TABLE} IN ACCESS EXCLUSIVE MODE")
        self.locks.append(conn)

    def unlock(self) -> None:
        self.locks.pop().close()

    def cut(self) -> None:
        self.proxy.refuse()
        self.proxy.cut()

    def sql(self, statement: str) -> None:
        self.database.execute(statement.format(role=self.role))


def hear_status_updates(pipeline: Pipeline) -> None:
    """Whatever the relay thought safe a moment ago, Postgres has heard it afterwards."""
    replies: set[Any] = set()

    def are_heard() -> bool:
        replies.update(pipeline.database.execute(REPLY_TIME, [pipeline.slot]))
        return len(replies) > 3

    wait_until(are_heard, timeout=60, what="three status updates more")


def wait_holding(relay: RelayProcess, reason: str) -> None:
    def holds() -> bool:
        said = readiness(relay)
        return said["state"] == "holding" and reason in said["reason"]

    wait_until(holds, timeout=90, what=f"it holds, for: {reason}")


def wait_streaming(relay: RelayProcess) -> None:
    wait_until(lambda: readiness(relay)["state"] == "streaming", timeout=90, what="it streams again")


def wait_confirmed(ground: Ground, end: int) -> None:
    wait_until(lambda: ground.pipeline.confirmed_lsn() >= end, timeout=90, what="the slot is confirmed to the end")
