"""Three brokers, each behind a line of its own, and a fourth node that alone has the controller and no partitions: any
number of brokers may go without the quorum, and the quorum without a broker."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.fixtures.kafka_broker import KafkaBroker, Property
from tests.fixtures.process import wait_until
from tests.fixtures.proxy import TcpProxy

__all__ = ["MIN_IN_SYNC", "WalkCluster"]

BROKER_IDS = (2, 3, 4)
MIN_IN_SYNC = 2
HEAP = "256m"
PROPERTIES: dict[str, Property] = {
    "auto.create.topics.enable": False,
    "replica.lag.time.max.ms": 2000,
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": True,  # until a fault says otherwise of a topic
}


class WalkCluster:
    is_real = True

    def __init__(self, jars: Path) -> None:
        self.controller = KafkaBroker(jars, PROPERTIES, heap=HEAP)
        self.lines = {number: TcpProxy() for number in BROKER_IDS}
        self.brokers = {
            number: KafkaBroker(
                jars, PROPERTIES, heap=HEAP, joins=self.controller, node_id=number, proxy_port=line.port
            )
            for number, line in self.lines.items()
        }
        for number, line in self.lines.items():
            line.retarget("127.0.0.1", self.brokers[number].behind_proxy_port)

    @property
    def bootstrap(self) -> str:
        """Past the lines, for witnesses."""
        return ",".join(broker.bootstrap for broker in (self.controller, *self.brokers.values()))

    @property
    def relay_bootstrap(self) -> str:
        return ",".join(line.address for line in self.lines.values())

    def start(self) -> None:
        for broker in (self.controller, *self.brokers.values()):
            broker.start()
        wait_until(
            lambda: self._member_count() == 1 + len(BROKER_IDS), timeout=60, what="all nodes are in the metadata"
        )

    def destroy(self) -> None:
        for broker in (*self.brokers.values(), self.controller):
            broker.destroy()
        for line in self.lines.values():
            line.close()

    def create_topic(self, name: str, partitions: int = 1, config: Mapping[str, str] = {}) -> None:
        """On all three brokers, with another leader for each partition."""
        ids = list(BROKER_IDS)
        places = [ids[first % 3 :] + ids[: first % 3] for first in range(partitions)]
        settings = {"min.insync.replicas": str(MIN_IN_SYNC), **config}
        topic = NewTopic(name, num_partitions=partitions, replica_assignment=places, config=settings)
        admin = self.admin()  # named, because a collected client cancels its futures
        admin.create_topics([topic])[name].result(30)

    def delete_topic(self, name: str) -> None:
        admin = self.admin()
        admin.delete_topics([name])[name].result(30)
        wait_until(lambda: name not in self.topics(), timeout=60, what=f"topic {name} is gone")

    def topics(self) -> set[str]:
        return set(self.admin().list_topics(timeout=30).topics)

    def leader_of(self, topic: str, partition: int = 0) -> int:
        """The node's number; -1 while there is none."""
        return int(self.admin().list_topics(topic, timeout=30).topics[topic].partitions[partition].leader)

    def in_sync_of(self, topic: str) -> dict[int, list[int]]:
        partitions = self.admin().list_topics(topic, timeout=30).topics[topic].partitions
        return {number: sorted(partition.isrs) for number, partition in partitions.items()}

    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    def _member_count(self) -> int:
        return len(self.admin().list_topics(timeout=30).brokers)
