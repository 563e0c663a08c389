"""`cdc-relay topics` as its users run it, and a topic as another client sees it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from confluent_kafka import TopicCollection
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource

from tests.fixtures.process import wait_until

__all__ = ["Seen", "Topics"]


class Topics:
    """The command with a configuration file, as its users run it."""

    def __init__(self, directory: Path, kafka: Mapping[str, str], **sections: Any) -> None:
        self._file = directory / "relay.yaml"
        self._base: dict[str, Any] = {
            "source": {"dsn": "postgresql://relay@127.0.0.1:1/none", "slot": "s", "publication": "p"},
            "sink": {"kafka": dict(kafka)},
            "outboxes": [{"table": "outbox"}],
        }
        self.want(**sections)

    def want(self, **sections: Any) -> None:
        self._file.write_text(yaml.safe_dump({**self._base, **sections}))

    def plan(self) -> subprocess.CompletedProcess[str]:
        return self._run("plan")

    def apply(self) -> subprocess.CompletedProcess[str]:
        return self._run("apply", "--yes")

    def document(self) -> dict[str, Any]:
        parsed: dict[str, Any] = json.loads(self._run("plan", "--json").stdout)
        return parsed

    def settle(self) -> None:
        """Brokers know of a change a moment after the controller has made it."""
        wait_until(lambda: self.plan().returncode == 0, timeout=30, what="the brokers know what was changed")

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "cdc_relay", "topics", *arguments, "-c", str(self._file)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
        assert "Traceback" not in done.stderr, done.stderr
        return done


class Seen:
    """A topic as another client sees it."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        [partitions] = admin.describe_topics(TopicCollection([topic]), request_timeout=30).values()
        described = partitions.result(30).partitions
        self.partitions = len(described)
        self.replicas = {len(partition.replicas) for partition in described}
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        entries = admin.describe_configs([resource], request_timeout=30)[resource].result(30)
        self.properties = {name: entry.value for name, entry in entries.items()}
