"""Where the WAL ends, how far the slot is confirmed, and relays for one pipeline."""

from __future__ import annotations

from pathlib import Path

from tests.fixtures.fix_relay import MakeRelay, Pipeline, RelayProcess
from tests.fixtures.process import wait_until
from tests.fixtures.relay_process import Config

__all__ = ["relay_maker", "wait_until_confirmed", "wal_lsn"]


def wal_lsn(pipeline: Pipeline) -> int:
    [(lsn,)] = pipeline.database.execute("SELECT pg_current_wal_insert_lsn() - '0/0'")
    return int(lsn)


def wait_until_confirmed(pipeline: Pipeline, lsn: int, *, timeout: float = 60) -> None:
    wait_until(lambda: pipeline.confirmed_lsn() >= lsn, timeout=timeout, what="the slot follows")


def relay_maker(directory: Path) -> MakeRelay:
    def make(config: Config, *arguments: str) -> RelayProcess:
        return RelayProcess(config, directory, *arguments).start()

    return make
