"""Which columns of an outbox carry the parts of an event: the mapping of the configuration, bound to no relation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cdc_relay.model import Origin

__all__ = ["EventColumns"]


@dataclass(frozen=True, slots=True)
class EventColumns:
    schema: str
    name: str
    label: str  # the table as SQL writes it, or the prefix of messages: what operators see
    id_column: str
    key_column: str
    type_column: str
    payload_column: str
    correlation_column: str | None = None
    tenant_column: str | None = None
    schedule_column: str | None = None
    causation_column: str | None = None
    timestamp_column: str | None = None  # when the event occurred
    version_column: str | None = None  # of the payload's schema
    partition_column: str | None = None
    headers_column: str | None = None  # a JSON object

    @property
    def mapped_columns(self) -> tuple[str, ...]:
        """Every column that the mapping names, each once."""
        named = (
            self.id_column,
            self.key_column,
            self.type_column,
            self.payload_column,
            self.correlation_column,
            self.tenant_column,
            self.schedule_column,
            self.causation_column,
            self.timestamp_column,
            self.version_column,
            self.partition_column,
            self.headers_column,
        )
        return tuple(dict.fromkeys(name for name in named if name is not None))

    @property
    def event_columns(self) -> tuple[str, ...]:
        """What is kept with a parked record, to name it by."""
        return tuple(column for _, column in self._event())

    @property
    def origin(self) -> Origin:
        return Origin(self.label, tuple(field for field, _ in self._event()))

    def _event(self) -> Iterator[tuple[str, str]]:
        yield "id", self.id_column
        yield "type", self.type_column
        if self.correlation_column is not None:
            yield "correlation_id", self.correlation_column
        if self.tenant_column is not None:
            yield "tenant", self.tenant_column
