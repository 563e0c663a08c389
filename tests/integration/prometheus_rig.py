"""Two relays of one service with something of everything in their metrics, scraped by a real Prometheus."""

from __future__ import annotations

import json
import math
from collections.abc import Collection
from pathlib import Path

from tests.fixtures.database import Database
from tests.fixtures.kafka_broker import KafkaBroker
from tests.fixtures.pipeline import Pipeline
from tests.fixtures.postgres_install import Install
from tests.fixtures.postgres_server import PostgresServer
from tests.fixtures.process import wait_until
from tests.fixtures.prometheus import Prometheus
from tests.fixtures.relay_process import Config, RelayProcess
from tests.integration.certificates import make_certificate

__all__ = ["SERVICE", "Scene"]

SERVICE = "orders"
RULES = Path(__file__).parents[2] / "deploy" / "prometheus" / "rules.yml"
OUTBOXES = [{"table": "public.outbox", "columns": {"scheduled_at": "scheduled_at"}}, {"table": "public.monthly"}]
MONTHLY = """
CREATE TABLE monthly (id uuid, aggregatetype text, aggregateid text, type text, payload jsonb,
                      created_at timestamptz NOT NULL DEFAULT now()) PARTITION BY RANGE (created_at)
"""
RETENTION = {"every": "1s", "partitions": True}
INSERT = "INSERT INTO outbox VALUES (gen_random_uuid(), %s, 'k', 'T', %s, now() + %s * interval '1 h')"
UNROUTABLE = "no topic is called so"  # Kafka allows no blanks
TOO_LARGE = json.dumps({"pad": "x" * 5000})


class Scene:
    def __init__(self, install: Install, jars: Path, directory: Path) -> None:
        self._directory = directory
        self._certificate = directory / "authority.crt"
        self._relays: list[RelayProcess] = []
        self._server = PostgresServer(install, max_slot_wal_keep_size="256MB")
        self._broker = KafkaBroker(jars, {"auto.create.topics.enable": False})

    def start(self) -> None:
        self._server.start()
        self._broker.start()
        small = {"max.message.bytes": "1000"}
        self.pipeline = Pipeline(Database(self._server), self._broker, self._make_relay, topic_config=small)
        self._make_tables()
        make_certificate(self._certificate, days=400)
        self.reader = self._start_relay().wait_ready()
        self.standby = self._start_relay().wait_ready()
        self.prometheus = Prometheus([relay.http_port for relay in self._relays], rules=RULES)
        self.prometheus.start()
        self._commit_something_of_everything()

    def destroy(self) -> None:
        for relay in self._relays:
            relay.kill()
        if hasattr(self, "prometheus"):
            self.prometheus.destroy()
        self._broker.destroy()
        self._server.destroy()

    def insert(self, aggregate_type: str | None = None, *, payload: str = "{}", due_hours: int | None = None) -> None:
        self.pipeline.database.execute(INSERT, [aggregate_type or self.pipeline.aggregate_type, payload, due_hours])

    def wait_until_each_has_data(self, queries: list[str], *, timeout: float = 120) -> list[str]:
        """Those that have none in the end. Events come all the while: rates and round trips need some."""
        missing = list(queries)

        def have_all_data() -> bool:
            self.insert()
            missing[:] = [query for query in missing if not self.has_data(query)]
            return not missing

        try:
            wait_until(have_all_data, timeout=timeout, what="every query has data", every=0.5)
        except TimeoutError:
            return missing
        return []

    def wait_for_alerts(self, names: Collection[str], *, apart_from: Collection[str] = ()) -> None:
        """Until just these are active: pending, or firing."""

        def are_active() -> bool:
            active = {sample["metric"]["alertname"] for sample in self.prometheus.query("ALERTS")}
            return active - set(apart_from) == set(names)

        wait_until(are_active, timeout=60, what=f"the active alerts are {sorted(names)}", every=0.5)

    def has_data(self, query: str) -> bool:
        """A number at least: 0/0 is none."""
        return any(math.isfinite(float(sample["value"][1])) for sample in self.prometheus.query(query))

    def _commit_something_of_everything(self) -> None:
        self.insert()
        self.insert(UNROUTABLE)  # dead
        self.insert("missing")  # its topic is closed
        self.insert(payload=TOO_LARGE)  # retrying
        self.insert(due_hours=1)  # scheduled

    def _make_tables(self) -> None:
        """An outbox by months belongs to the relay's role, so that it may make them."""
        execute, role = self.pipeline.database.execute, self.pipeline.role
        execute("ALTER TABLE outbox ADD scheduled_at timestamptz, ADD created_at timestamptz DEFAULT now()")
        execute(MONTHLY)
        execute(f"ALTER TABLE monthly OWNER TO {role}")
        execute(f"GRANT CREATE ON SCHEMA public TO {role}")
        execute(f"ALTER PUBLICATION {self.pipeline.publication} ADD TABLE monthly")

    def _start_relay(self) -> RelayProcess:
        dsn = self.pipeline.dsn(sslrootcert=str(self._certificate))  # read for its date, though the server has no TLS
        config = self.pipeline.config(dsn=dsn, outboxes=OUTBOXES, delivery={"retry": {"base": "1h", "max": "1h"}})
        return self._make_relay({**config, "service": SERVICE, "retention": RETENTION})

    def _make_relay(self, config: Config) -> RelayProcess:
        relay = RelayProcess(config, self._directory / f"relay{len(self._relays)}")
        self._relays.append(relay)
        return relay.start()
