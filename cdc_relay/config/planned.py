"""Keys that the design has and this version does not: each with what happens instead. Delete a row when it is built."""

from __future__ import annotations

from cdc_relay.config.problems import KeyPath

__all__ = ["PLANNED", "explain_planned"]

_NOT_READ = "the column is not read"

PLANNED: dict[tuple[str, ...], str] = {
    ("outboxes", "message_prefix"): "only tables are read, and logical messages are ignored",
    ("outboxes", "columns", "timestamp"): f"{_NOT_READ}, and the record carries the time of the commit",
    ("outboxes", "columns", "partition"): f"{_NOT_READ}, and the partitioner of sink.kafka decides",
    ("outboxes", "columns", "headers"): _NOT_READ,
    ("outboxes", "routes", "key"): "the key is the column of outboxes[].columns.key",
    ("outboxes", "routes", "partition"): "the partitioner of sink.kafka decides",
    ("outboxes", "routes", "timestamp"): "the record carries the time of the commit",
    ("outboxes", "routes", "headers"): "the record has one header, id",
    ("outboxes", "routes", "envelope"): "the value is the payload column, as Debezium's default has it",
    ("outboxes", "routes", "drop"): "a row that no route takes is parked",
}


def explain_planned(path: KeyPath) -> str | None:
    instead = PLANNED.get(tuple(step for step in path if isinstance(step, str)))
    return instead and f"planned, not in this version; remove it; what happens instead is that {instead}"
