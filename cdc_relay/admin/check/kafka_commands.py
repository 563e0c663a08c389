"""Lines for Kafka's own tools, as an administrator of the cluster pastes them. Pure."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cdc_relay.sources.remedy import Step, shell, words

__all__ = ["Commands"]

_MOST_PARTITIONS = 50  # of which a reassignment is spelled out
_LOGIN = words("as an administrator: with --command-config FILE where the brokers ask for a login")


@dataclass(frozen=True, slots=True)
class Commands:
    """For one cluster."""

    bootstrap: str
    principal: str  # that of sink.kafka, as far as it is known
    needs_login: bool

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> Commands:
        servers = properties.get("bootstrap.servers") or properties.get("metadata.broker.list") or ""
        protocol = properties.get("security.protocol", "plaintext").lower()
        user = properties.get("sasl.username") or properties.get("sasl.user")
        return cls(servers, f"User:{user}" if user else "User:PRINCIPAL", protocol != "plaintext")

    def allow(self, topic: str) -> tuple[Step, ...]:
        allowed = f"--allow-principal {shlex.quote(self.principal)} --operation Write --operation Describe"
        return self._with_login(f"{self._tool('kafka-acls.sh')} --add {allowed} --topic {topic}")

    def create(self, topic: str, *, brokers: int) -> tuple[Step, ...]:
        shape = f"--partitions 3 --replication-factor {min(3, brokers)}"
        return self._with_login(f"{self._tool('kafka-topics.sh')} --create --topic {topic} {shape}")

    def set_property(self, topic: str, name: str, value: int) -> tuple[Step, ...]:
        change = f"--alter --entity-type topics --entity-name {topic} --add-config {name}={value}"
        return self._with_login(f"{self._tool('kafka-configs.sh')} {change}")

    def replicate(self, topic: str, replicas: Mapping[int, Sequence[int]]) -> tuple[Step, ...]:
        """`replicas`: by partition, the brokers that shall have it, the leader first."""
        if len(replicas) > _MOST_PARTITIONS:
            return (words(f"give topic {topic} more replicas with kafka-reassign-partitions.sh"),)
        moves = [{"topic": topic, "partition": place, "replicas": list(nodes)} for place, nodes in replicas.items()]
        plan = shlex.quote(json.dumps({"version": 1, "partitions": moves}))
        execute = f"{self._tool('kafka-reassign-partitions.sh')} --reassignment-json-file reassign.json --execute"
        return shell(f"echo {plan} > reassign.json"), *self._with_login(execute)

    def _tool(self, name: str) -> str:
        return f"{name} --bootstrap-server {shlex.quote(self.bootstrap)}"

    def _with_login(self, command: str) -> tuple[Step, ...]:
        return (shell(command), _LOGIN) if self.needs_login else (shell(command),)
