"""All peers by name. The first is ours; what is compared comes next, the ceilings last."""

from __future__ import annotations

from collections.abc import Callable

from tests.bench.peers.debezium import TUNED, UNTUNED, Debezium
from tests.bench.peers.names import RAW_NAPPING, RELAY, TUNED_DEBEZIUM, UNTUNED_DEBEZIUM
from tests.bench.peers.one_shot import OneShot, PgRecvlogical, Produce
from tests.bench.peers.peer import Peer
from tests.bench.peers.raw import RawReader
from tests.bench.peers.relay import Relay

__all__ = ["CEILINGS", "CONNECTORS", "PEERS", "make_peer"]

CONNECTORS = (RELAY, TUNED_DEBEZIUM, UNTUNED_DEBEZIUM)
CEILINGS = (RAW_NAPPING, "raw-eager", "pg_recvlogical", "produce-only")

_MAKERS: dict[str, Callable[[], Peer | OneShot]] = {
    RELAY: Relay,
    TUNED_DEBEZIUM: lambda: Debezium(TUNED),
    UNTUNED_DEBEZIUM: lambda: Debezium(UNTUNED),
    RAW_NAPPING: lambda: RawReader(RAW_NAPPING, nap_ms=5),
    "raw-eager": lambda: RawReader("raw-eager", nap_ms=0),
    "pg_recvlogical": PgRecvlogical,
    "produce-only": Produce,
}
PEERS = tuple(_MAKERS)


def make_peer(name: str) -> Peer | OneShot:
    return _MAKERS[name]()
