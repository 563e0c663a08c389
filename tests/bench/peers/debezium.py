"""Debezium in a real Kafka Connect worker of its own: out of the box, and tuned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.bench.peers.names import TUNED_DEBEZIUM, UNTUNED_DEBEZIUM
from tests.bench.peers.peer import StreamingPeer
from tests.bench.servers import Servers
from tests.bench.stage import PUBLICATION, Stage
from tests.compare.connect_worker import ConnectWorker, find_connect_jars
from tests.fixtures.process import tail

__all__ = ["TUNED", "UNTUNED", "Debezium", "Flavour"]


@dataclass(frozen=True)
class Flavour:
    name: str
    java: Sequence[str]
    connector: Mapping[str, str] = field(default_factory=dict)


# What it takes to function at all: an outbox that is read from now on, through a publication and a slot that exist.
_NEEDED = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "tasks.max": "1",
    "plugin.name": "pgoutput",
    "publication.autocreate.mode": "disabled",
    "publication.name": PUBLICATION,
    "snapshot.mode": "no_data",
    "table.include.list": "public.outbox",
    "transforms": "outbox",
    "transforms.outbox.type": "io.debezium.transforms.outbox.EventRouter",
}
# The heap and collector options of Kafka's own connect-standalone.sh.
UNTUNED = Flavour(
    UNTUNED_DEBEZIUM,
    java=(
        *("-Xms256M", "-Xmx2G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20"),
        *("-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent"),
    ),
)
TUNED = Flavour(
    TUNED_DEBEZIUM,
    java=("-Xmx512m",),
    connector={
        "tombstones.on.delete": "false",
        "extended.headers.enabled": "false",
        "poll.interval.ms": "10",  # the default, 500, costs 250 ms
        "max.batch.size": "8192",
        "max.queue.size": "32768",
        "producer.override.acks": "all",
        "producer.override.enable.idempotence": "true",
        "producer.override.max.in.flight.requests.per.connection": "5",
        "producer.override.linger.ms": "5",
    },
)


class Debezium(StreamingPeer):
    """The worker lives from stage to stage, so that its JVM stays hot; a connector is made for each."""

    def __init__(self, flavour: Flavour) -> None:
        super().__init__()
        self.name = flavour.name
        self._flavour = flavour
        self._worker: ConnectWorker | None = None

    @property
    def worker(self) -> ConnectWorker:
        if self._worker is None:
            raise RuntimeError(f"{self.name} is not running")
        return self._worker

    @property
    def pid(self) -> int:
        return self.worker.pid

    def open(self, stage: Stage) -> None:
        self.prepare(stage)
        if not self.worker.is_running:
            self.worker.start()
        self.worker.create(self.slot, self.connector(stage))
        self._wait_for_walsender()

    def prepare(self, stage: Stage) -> None:
        self._stage = stage
        stage.make_slot(self.slot)
        self.topics = stage.make_topics(self.name)
        if self._worker is None:
            jars = find_connect_jars()
            if isinstance(jars, str):
                raise SystemExit(f"no Debezium: {jars}")
            self._worker = ConnectWorker(jars, stage.servers.kafka.bootstrap, java_options=self._flavour.java)

    def start(self) -> None:
        """Cold: the JVM with its connector configured from the start. Returns at once."""
        self.worker.launch({"name": self.slot, **self.connector(self.stage)})

    def stop(self) -> None:
        """So that it stores how far it was."""
        self.worker.stop()

    def close(self) -> None:
        self.release_walsender()
        self.release_process()
        self.worker.delete(self.slot)

    def end(self) -> None:
        if self._worker is not None:
            self._worker.destroy()

    def complaint(self) -> str:
        return tail(self.worker.log)

    def connector(self, stage: Stage) -> dict[str, str]:
        own = {
            "database.hostname": "127.0.0.1",
            "database.port": str(stage.servers.postgres.port),
            "database.user": "postgres",
            "database.password": "not asked for",
            "database.dbname": stage.database.name,
            "topic.prefix": self.slot,
            "slot.name": self.slot,
            "transforms.outbox.route.topic.replacement": f"{self.name}.${{routedByValue}}",
        }
        compression = stage.workload.compression
        packed = {} if compression == "none" else {"producer.override.compression.type": compression}
        return {**_NEEDED, **own, **self._flavour.connector, **packed, **_tls(stage.servers)}


def _tls(servers: Servers) -> dict[str, str]:
    if servers.certificate is None:
        return {}
    return {
        "database.sslmode": "verify-ca",
        "database.sslrootcert": str(servers.certificate),
        "producer.override.bootstrap.servers": servers.bootstrap,
        "producer.override.security.protocol": "SSL",
        "producer.override.ssl.truststore.type": "PEM",
        "producer.override.ssl.truststore.location": str(servers.certificate),
    }
