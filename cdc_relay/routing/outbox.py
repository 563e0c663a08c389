"""A configured outbox and its routes: which columns carry what, and where rows go. Bound to no relation yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cdc_relay.model import Origin, Policy
from cdc_relay.routing.templates import Template

__all__ = ["DEFAULT_ROUTE", "DEFAULT_TOPIC", "UNROUTED", "Outbox", "Route"]

DEFAULT_TOPIC = Template.parse("outbox.event.{aggregatetype}")  # Debezium's


@dataclass(frozen=True, slots=True)
class Route:
    """Rows whose columns have all the values of `when` go to `topic`."""

    topic: Template
    policy: Policy
    when: tuple[tuple[str, bytes], ...] = ()  # column and value, as Postgres prints it

    @property
    def columns(self) -> tuple[str, ...]:
        return (*(column for column, _ in self.when), *self.topic.columns)


DEFAULT_ROUTE = Route(DEFAULT_TOPIC, Policy(str(DEFAULT_TOPIC)))
UNROUTED = Policy("")  # of rows that no route takes


@dataclass(frozen=True, slots=True)
class Outbox:
    """A configured outbox table, the columns that carry the parts of an event, and its routes: the first match wins."""

    schema: str
    name: str
    label: str  # the table as SQL writes it, for messages
    id_column: str
    key_column: str
    type_column: str
    payload_column: str
    correlation_column: str | None = None
    tenant_column: str | None = None
    schedule_column: str | None = None
    routes: tuple[Route, ...] = (DEFAULT_ROUTE,)
    unrouted: Policy = UNROUTED

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that the mapping and the routes need, each once."""
        schedule = () if self.schedule_column is None else (self.schedule_column,)
        mapped = (self.id_column, self.key_column, self.type_column, self.payload_column, *self.event_columns[2:])
        return tuple(dict.fromkeys((*mapped, *schedule, *self.route_columns)))

    @property
    def route_columns(self) -> tuple[str, ...]:
        """The columns that decide where a row goes, each once."""
        return tuple(dict.fromkeys(column for route in self.routes for column in route.columns))

    @property
    def event_columns(self) -> tuple[str, ...]:
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
