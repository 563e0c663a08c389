"""How many records are on a peer's topics, by their end offsets: one small request, which costs the peer nothing."""

from __future__ import annotations

from collections.abc import Sequence

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]  # documented, not marked

from tests.fixtures.process import wait_until

__all__ = ["Ends", "Watch"]

Ends = dict[tuple[str, int], int]

FEW_PARTITIONS = 20


class Watch:
    def __init__(self, bootstrap: str, topics: Sequence[str], partitions: int) -> None:
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]  # theirs
        self._asked = {TopicPartition(topic, number): latest for topic in topics for number in range(partitions)}
        # Between two looks: of 200 topics, asking without a pause would cost the broker more than the drain does.
        self.pause_seconds = 0.02 if len(self._asked) <= FEW_PARTITIONS else 0.2
        wait_until(self._answers, timeout=30, what="the new topics have their leaders")

    def ends(self) -> Ends:
        answers = self._admin.list_offsets(self._asked, request_timeout=30)
        return {(asked.topic, asked.partition): int(answer.result().offset) for asked, answer in answers.items()}

    def _answers(self) -> bool:
        try:
            self.ends()
        except KafkaException:
            return False
        return True

    def count(self) -> int:
        return sum(self.ends().values())
