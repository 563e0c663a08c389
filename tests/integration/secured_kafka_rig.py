"""A broker with two doors, SCRAM-SHA-512 over TLS and certificates of both sides, ACLs behind both; and doors where it
shows a certificate that nobody should trust."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.fixtures.authority import Authority, Identity
from tests.fixtures.kafka_broker import KafkaBroker
from tests.fixtures.kafka_doors import CertificateDoor, ScramDoor
from tests.fixtures.kafka_jars import find_jars
from tests.fixtures.scratch import remove_scratch, scratch_dir

__all__ = ["PRINCIPALS", "SecuredKafka", "secured_kafka"]

USER = "relay"
PRINCIPALS = {"scram": USER, "mutual": f"CN={USER}"}  # by door: the user, and the subject of the certificate


class SecuredKafka:
    def __init__(self, jars: Path) -> None:
        self._directory = scratch_dir("kafka-tls")
        self.authority = Authority(self._directory, "authority")
        self.strangers = Authority(self._directory, "strangers")
        self.good = self.authority.issue("broker")
        self.client = self.authority.issue(USER)
        self._keystore = self._keep("keystore", self.good)
        self._mutual = CertificateDoor("MUTUAL", self._keystore, trusted=self.authority.certificate)
        self._scram = {"scram": ScramDoor("SCRAM", self._keystore, users=[USER])}
        for fault, identity in self._faulty().items():
            self._scram[fault] = ScramDoor(fault.upper(), self._keep(fault, identity))
        doors = [self._mutual, *self._scram.values()]
        self.broker = KafkaBroker(jars, {"auto.create.topics.enable": False}, doors=doors, heap="512m")

    def _faulty(self) -> dict[str, Identity]:
        """By the door that shows it."""
        root = self.strangers.certificate
        return {
            "expired": self.authority.issue("broker", days=-1),
            "unknown": self.strangers.issue("broker"),
            "selfsigned": Identity(root, root.with_suffix(".key")),
            "elsewhere": self.authority.issue("broker", names="DNS:kafka.example"),
        }

    def _keep(self, name: str, identity: Identity) -> Path:
        keystore = self._directory / f"{name}.pem"
        keystore.write_text(identity.keystore)
        return keystore

    def show(self, identity: Identity) -> None:
        """The certificate of the good doors from now on: the broker starts again with it."""
        self._keep("keystore", identity)
        self.broker.restart()

    def destroy(self) -> None:
        self.broker.destroy()
        remove_scratch(self._directory)

    def by(self, door: str, *, client: Identity | None = None, **changes: str) -> dict[str, Any]:
        """The sink's section for one who comes in there. Changes of properties have _ for the dots."""
        named = {name.replace("_", "."): value for name, value in changes.items()}
        root = self.authority.certificate
        if door == "mutual":
            return {"sink": {"kafka": self._mutual.credentials(client or self.client, authority=root) | named}}
        return {"sink": {"kafka": self._scram[door].credentials(USER, authority=root) | named}}

    def grant(self, topic: str | None, *operations: str, door: str = "scram") -> None:
        for operation in operations:
            self.broker.grant(PRINCIPALS[door], operation, topic)

    def revoke(self, topic: str | None, *operations: str, door: str = "scram") -> None:
        for operation in operations:
            self.broker.revoke(PRINCIPALS[door], operation, topic)


@contextmanager
def secured_kafka() -> Iterator[SecuredKafka]:
    jars = find_jars()
    assert isinstance(jars, Path)  # the mark real_kafka has seen to it
    secured = SecuredKafka(jars)
    try:
        secured.broker.start()
        yield secured
    finally:
        secured.destroy()
