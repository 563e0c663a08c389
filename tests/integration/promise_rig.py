"""A broker that can be cut off, and what is seen of relay, slot and topic meanwhile."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.fixtures.fix_kafka import KafkaBroker
from tests.fixtures.fix_proxy import TcpProxy
from tests.fixtures.fix_relay import MakeRelay, Pipeline, RelayProcess
from tests.fixtures.kafka_jars import find_jars
from tests.fixtures.relay_process import Config

__all__ = [
    "IMPATIENT",
    "WAL_SENDER_TIMEOUT",
    "cut",
    "event_ids",
    "open_records",
    "readiness",
    "relay_maker",
    "run_cut_off",
    "wal_lsn",
]

WAL_SENDER_TIMEOUT = timedelta(seconds=2)
IMPATIENT = {"wal_sender_timeout": f"{WAL_SENDER_TIMEOUT.seconds}s"}


def run_cut_off() -> Iterator[tuple[KafkaBroker, TcpProxy]]:
    """A broker that makes no topics by itself, and the proxy that can cut it off."""
    jars = find_jars()
    assert isinstance(jars, Path)  # the mark real_kafka has seen to it
    proxy = TcpProxy()
    broker = KafkaBroker(jars, {"auto.create.topics.enable": False}, proxy_port=proxy.port)
    proxy.retarget("127.0.0.1", broker.behind_proxy_port)
    try:
        broker.start()
        yield broker, proxy
    finally:
        broker.destroy()
        proxy.close()


def relay_maker(directory: Path) -> MakeRelay:
    def make(config: Config, *arguments: str) -> RelayProcess:
        return RelayProcess(config, directory, *arguments).start()

    return make


def wal_lsn(pipeline: Pipeline) -> int:
    [(lsn,)] = pipeline.database.execute("SELECT pg_current_wal_insert_lsn() - '0/0'")
    return int(lsn)


def readiness(relay: RelayProcess) -> dict[str, Any]:
    """What /readyz says; empty while nobody answers."""
    try:
        return dict(json.loads(relay.get("/readyz")[1]))
    except (OSError, http.client.HTTPException):
        return {}


def open_records(relay: RelayProcess) -> int:
    return int(readiness(relay).get("open_records", 0))


def event_ids(pipeline: Pipeline) -> list[str]:
    """Of all that is on the topic."""
    return [id_of(record.headers()) for record in pipeline.records()]


def id_of(headers: Any) -> str:
    [(name, value)] = headers
    assert name == "id"
    return str(value.decode())


def cut(proxy: TcpProxy) -> None:
    proxy.refuse()
    proxy.cut()
