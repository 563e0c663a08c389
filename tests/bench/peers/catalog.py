"""All peers by name. The first is ours; what is compared comes next, the ceilings last."""

from __future__ import annotations

from collections.abc import Callable

from tests.bench.peers.debezium import TUNED, UNTUNED, Debezium
from tests.bench.peers.one_shot import OneShot, PgRecvlogical, Produce
from tests.bench.peers.peer import Peer
from tests.bench.peers.raw import RawReader
from tests.bench.peers.relay import Relay

__all__ = ["CEILINGS", "CONNECTORS", "PEERS", "make_peer"]

CONNECTORS = ("relay", "debezium-tuned", "debezium-default")
CEILINGS = ("raw-napping", "raw-eager", "pg_recvlogical", "produce-only")

_MAKERS: dict[str, Callable[[], Peer | OneShot]] = {
    "relay": Relay,
    "debezium-tuned": lambda: Debezium(TUNED),
    "debezium-default": lambda: Debezium(UNTUNED),
    "raw-napping": lambda: RawReader("raw-napping", nap_ms=5),
    "raw-eager": lambda: RawReader("raw-eager", nap_ms=0),
    "pg_recvlogical": PgRecvlogical,
    "produce-only": Produce,
}
PEERS = tuple(_MAKERS)


def make_peer(name: str) -> Peer | OneShot:
    return _MAKERS[name]()
