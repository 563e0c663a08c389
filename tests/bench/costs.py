"""CPU seconds of all that takes part in a drain."""

from __future__ import annotations

from dataclasses import dataclass

from tests.bench.peers.peer import Peer
from tests.bench.processes import cpu_seconds
from tests.bench.servers import Servers

__all__ = ["Costs", "server_costs", "streaming_costs"]


@dataclass(frozen=True)
class Costs:
    connector: float
    walsender: float  # a part of what Postgres costs
    postgres: float
    broker: float

    def since(self, before: Costs) -> Costs:
        return Costs(
            self.connector - before.connector,
            self.walsender - before.walsender,
            self.postgres - before.postgres,
            self.broker - before.broker,
        )


def server_costs(servers: Servers) -> Costs:
    return Costs(0.0, 0.0, servers.postgres_cpu_seconds(), servers.broker_cpu_seconds())


def streaming_costs(servers: Servers, peer: Peer) -> Costs:
    own, sender = cpu_seconds(peer.pid), cpu_seconds(peer.walsender_pid)
    return Costs(own, sender, servers.postgres_cpu_seconds(), servers.broker_cpu_seconds())
