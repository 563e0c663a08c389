"""A sink that takes every record and keeps none: for load tests of all that comes before it."""

from __future__ import annotations

from collections.abc import Sequence

from cdc_relay.model import Failure, Record
from cdc_relay.sinks.sink import Emptied, Reports, Slip, TopicLimits

__all__ = ["NoneSink"]


class NoneSink:
    """A record counts as delivered at the next look."""

    def __init__(self) -> None:
        self.error = ""
        self.statistics = ""
        self.fixed_limits: dict[str, TopicLimits] = {}
        self._taken: list[Slip] = []

    def publish(self, record: Record, slip: Slip) -> None:
        self._taken.append(slip)

    def publish_alone(self, record: Record, slip: Slip) -> None:
        self._taken.append(slip)

    def poll(self, timeout_seconds: float) -> Reports:
        taken, self._taken = self._taken, []
        return Reports(taken, [])

    def flush(self, timeout_seconds: float) -> Reports:
        return self.poll(timeout_seconds)

    def empty(self) -> Emptied:
        return Emptied(self.poll(0), [])

    def reset(self) -> None:
        self._taken = []

    def probe(self) -> None:
        """It always answers."""

    def probe_topic(self, topic: str) -> Failure | None:
        return None

    def read_limits(self, topics: Sequence[str]) -> dict[str, TopicLimits]:
        return {}

    def close(self) -> None:
        self.reset()
