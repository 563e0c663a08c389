"""What the configuration wants kept, and for how long. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cdc_relay.config import OutboxConfig, RelayConfig

__all__ = ["DEFAULT_TIME_COLUMN", "KeptTable", "kept_tables"]

DEFAULT_TIME_COLUMN = "created_at"


@dataclass(frozen=True, slots=True)
class KeptTable:
    label: str  # as SQL writes it
    schema: str
    name: str
    time_column: str
    keep_seconds: float  # 0: for ever
    by_month: bool  # whether its months are looked after, where it is partitioned so
    place: str  # where the file asks for it


def kept_tables(config: RelayConfig) -> list[KeptTable]:
    """Those of which something is asked."""
    return list(_kept_tables(config))


def _kept_tables(config: RelayConfig) -> Iterator[KeptTable]:
    for number, outbox in enumerate(config.outboxes):
        keep_seconds = _keep_seconds(config, outbox)
        if outbox.table is None or not (keep_seconds or config.retention.partitions):
            continue
        yield KeptTable(
            label=outbox.label,
            schema=outbox.table.schema,
            name=outbox.table.name,
            time_column=outbox.columns.timestamp or DEFAULT_TIME_COLUMN,
            keep_seconds=keep_seconds,
            by_month=config.retention.partitions,
            place=config.places.show(_path(outbox, number)),
        )


def _keep_seconds(config: RelayConfig, outbox: OutboxConfig) -> float:
    own = outbox.retention_seconds
    return config.retention.outbox_seconds if own is None else own


def _path(outbox: OutboxConfig, number: int) -> tuple[str | int, ...]:
    """Of the line that an operator would change."""
    if outbox.columns.timestamp is not None:
        return ("outboxes", number, "columns", "timestamp")
    if outbox.retention_seconds is not None:
        return ("outboxes", number, "retention")
    return ("retention",)
