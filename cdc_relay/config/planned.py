"""Keys that the design has and this version does not: each with what happens instead. Delete a row when it is built."""

from __future__ import annotations

from cdc_relay.config.problems import KeyPath

__all__ = ["PLANNED", "explain_planned"]

_NOT_READ = "the column is not read"
_STOPS = "a record that cannot be published stops the relay with exit code 3, and the slot does not move"

PLANNED: dict[tuple[str, ...], str] = {
    ("outboxes", "routes"): "every row goes to the topic outbox.event.{aggregatetype}, with its id as a header",
    ("outboxes", "message_prefix"): "only tables are read, and logical messages are ignored",
    ("outboxes", "columns", "correlation_id"): _NOT_READ,
    ("outboxes", "columns", "tenant"): _NOT_READ,
    ("outboxes", "columns", "scheduled_at"): f"{_NOT_READ}, and every row is published once it is committed",
    ("outboxes", "columns", "timestamp"): f"{_NOT_READ}, and the record carries the time of the commit",
    ("outboxes", "columns", "partition"): f"{_NOT_READ}, and the partitioner of sink.kafka decides",
    ("outboxes", "columns", "headers"): _NOT_READ,
    ("delivery", "retry"): f"an outage is waited for without end; {_STOPS}",
    ("delivery", "ordering"): f"records go out in commit order; {_STOPS}",
    ("delivery", "on_dead"): _STOPS,
    ("delivery", "partial_outage_after"): f"a topic that Kafka does not have fails its records; {_STOPS}",
    ("parking",): _STOPS,
}


def explain_planned(path: KeyPath) -> str | None:
    instead = PLANNED.get(tuple(step for step in path if isinstance(step, str)))
    return instead and f"planned, not in this version; remove it; what happens instead is that {instead}"
