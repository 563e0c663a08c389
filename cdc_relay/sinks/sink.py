"""The seam between the loop and a broker: records in, verdicts out, all on the loop's thread but for the probes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from cdc_relay.model import Failure, Record, Ticket
from cdc_relay.parking.entry import Claim

__all__ = ["Emptied", "Reject", "Reports", "Sink", "Slip", "TopicLimits"]

Slip = Ticket | Claim  # what a record is known by while it is out: read from the stream, or taken from the lot


class Reject(NamedTuple):
    """A record that the broker, or the client library, did not take."""

    slip: Slip
    record: Record
    failure: Failure
    was_alone: bool = False  # in its batch: the verdict is on this record and no other


class Reports(NamedTuple):
    """What the broker decided since the last look; `failed` in the order of the stream."""

    delivered: list[Slip]
    failed: list[Reject]


class Emptied(NamedTuple):
    """What came out of a producer that was emptied: verdicts, and records without one, which may be on the topic."""

    reports: Reports
    purged: list[tuple[Slip, Record]]


class TopicLimits(NamedTuple):
    """What a topic refuses, as far as its configuration tells."""

    needs_key: bool = False  # it is compacted
    batch_bytes: int | None = None  # the largest batch that it takes, one record or many


class Sink(Protocol):
    error: str  # the broker's latest complaint; empty while it answers
    statistics: str  # what the client library counts, as JSON of its own; empty until it says so
    fixed_limits: dict[str, TopicLimits]  # of topics that are known before their records, as the last probe found them

    def publish(self, record: Record, slip: Slip) -> None:
        """Hand a record out; its verdict comes with a later report. SinkError: the producer is finished."""
        ...

    def publish_alone(self, record: Record, slip: Slip) -> None:
        """Like publish, but in a batch of its own, so that its verdict is about nothing else."""
        ...

    def poll(self, timeout_seconds: float) -> Reports: ...

    def flush(self, timeout_seconds: float) -> Reports:
        """Like poll, but what is waiting to fill a batch goes out at once."""
        ...

    def empty(self) -> Emptied:
        """Take back everything that is out and go on with the same producer."""
        ...

    def reset(self) -> None:
        """Forget everything that is open: no report of it will come any more. It may be on the topic all the same."""
        ...

    def probe(self) -> None:
        """AwayError unless the broker answers. May block within limits, and be called from the helper thread."""
        ...

    def probe_topic(self, topic: str) -> Failure | None:
        """What keeps this topic from taking records, as far as the cluster tells; AwayError if it does not answer."""
        ...

    def read_limits(self, topics: Sequence[str]) -> dict[str, TopicLimits]:
        """Of those topics that the cluster tells something about. May block within limits: for the helper thread."""
        ...

    def close(self) -> None: ...
