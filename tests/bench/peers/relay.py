"""cdc-relay as its users run it, with everything on: lot, guard, metrics that somebody reads, routing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.bench.peers.names import RELAY
from tests.bench.peers.peer import StreamingPeer
from tests.bench.stage import PUBLICATION, Stage
from tests.fixtures.relay_process import Config, RelayProcess, relay_config

__all__ = ["Relay"]

HTTP_OK = 200


class Relay(StreamingPeer):
    """The default route and envelope, unless `sections` of the configuration say otherwise."""

    def __init__(
        self,
        name: str = RELAY,
        *,
        prefix: str = "outbox.event",
        sections: Mapping[str, Any] = {},
        topics: Sequence[str] = (),
    ) -> None:
        """With `topics` where the sections route elsewhere than to the prefix."""
        super().__init__()
        self._own_topics = list(topics)
        self.name = name
        self.prefix = prefix
        self._sections = sections
        self._process: RelayProcess | None = None

    @property
    def process(self) -> RelayProcess:
        if self._process is None:
            raise RuntimeError("the relay is not running")
        return self._process

    @property
    def pid(self) -> int:
        return self.process.pid

    def open(self, stage: Stage) -> None:
        self.prepare(stage)
        self.start()
        self.process.wait_ready()
        self.scrape()
        self._wait_for_walsender()

    def prepare(self, stage: Stage) -> None:
        """Slot, topics and files; nothing runs yet."""
        self._stage = stage
        stage.make_slot(self.slot)
        self.topics = stage.create_topics(self._own_topics) if self._own_topics else stage.make_topics(self.prefix)
        self._process = RelayProcess(self.config(stage), stage.servers.directory / self.slot)

    def start(self) -> None:
        self.process.start()

    def stop(self) -> None:
        if (code := self.process.stop()) != 0:
            raise RuntimeError(f"the relay ended with {code}:\n{self.complaint()}")

    def close(self) -> None:
        if self._process is not None and self._process.is_running:
            self.release_walsender()
            self.release_process()
            self.stop()

    def end(self) -> None:
        if self._process is not None and self._process.is_running:
            self._process.kill()

    def complaint(self) -> str:
        return self.process.stderr[-4000:]

    def scrape(self) -> None:
        status, page = self.process.get("/metrics")
        if status != HTTP_OK:
            raise RuntimeError(f"no metrics but {status}: {page[:200]}")

    def config(self, stage: Stage) -> Config:
        """A held walsender is silent: the limit on that is raised, which changes nothing else."""
        table, bootstrap = "public.outbox", stage.servers.bootstrap
        config = relay_config(stage.dsn(), self.slot, PUBLICATION, table, bootstrap, **self._sections)
        config["source"]["wal_sender_timeout"] = "1h"
        if stage.workload.compression != "none":
            config["sink"]["kafka"]["compression.type"] = stage.workload.compression
        if (certificate := stage.servers.certificate) is not None:
            config["sink"]["kafka"] |= {"security.protocol": "ssl", "ssl.ca.location": str(certificate)}
        if "outboxes" not in self._sections and self.prefix != "outbox.event":
            config["outboxes"][0]["routes"] = [{"topic": f"{self.prefix}.{{aggregatetype}}"}]
        return config
