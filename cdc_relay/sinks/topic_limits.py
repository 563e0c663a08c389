"""What topics will refuse, asked before they do. Blocks within limits: called on the helper thread.

A guess that saves refused batches, no verdict: whoever may not ask, or gets no answer, learns it from the refusals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, wait
from typing import Any

from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigEntry, ConfigResource

from cdc_relay.sinks.producers import admin_properties
from cdc_relay.sinks.sink import TopicLimits

__all__ = ["LimitsReader"]

_SECONDS = 5.0


class LimitsReader:
    """Keeps its connection, so that an answer takes a round trip and not a handshake."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._admin = AdminClient({**admin_properties(properties)})

    def read(self, topics: Sequence[str]) -> dict[str, TopicLimits]:
        asked = self._admin.describe_configs(
            [ConfigResource(ConfigResource.Type.TOPIC, topic) for topic in topics], request_timeout=_SECONDS
        )
        wait(list(asked.values()), _SECONDS + 1)
        return {resource.name: limits for resource, future in asked.items() if (limits := _read(future)) is not None}


def _read(asked: Future[Any]) -> TopicLimits | None:
    if not asked.done() or asked.exception() is not None:
        return None
    config: dict[str, ConfigEntry] = asked.result()
    size, policy = config.get("max.message.bytes"), config.get("cleanup.policy")
    return TopicLimits(
        needs_key=policy is not None and "compact" in (policy.value or ""),
        batch_bytes=int(size.value) if size is not None and size.value else None,
    )
