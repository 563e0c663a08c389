"""A configured outbox and its routes: which columns carry what, and where rows go. Bound to no relation yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cdc_relay.model import Policy
from cdc_relay.routing.conditions import Condition
from cdc_relay.routing.envelopes.debezium import Debezium
from cdc_relay.routing.envelopes.envelope import Envelope
from cdc_relay.routing.event_columns import EventColumns
from cdc_relay.routing.fields import Field
from cdc_relay.routing.templates import Template

__all__ = ["DEFAULT_ROUTE", "DEFAULT_TOPIC", "UNROUTED", "Outbox", "Route"]

DEFAULT_TOPIC = Template.parse("outbox.event.{aggregatetype}")  # Debezium's
DEFAULT_ENVELOPE = Debezium()


@dataclass(frozen=True, slots=True)
class Route:
    """Rows for which all of `when` holds go to `topic`, or nowhere. What is None is as the outbox maps it."""

    topic: Template
    policy: Policy
    when: tuple[tuple[Field, Condition], ...] = ()
    key: Template | None = None
    partition: Template | None = None
    timestamp: Template | None = None
    headers: tuple[tuple[str, Template], ...] = ()  # after those of the envelope
    envelope: Envelope = DEFAULT_ENVELOPE
    drop: bool = False

    @property
    def deciding_fields(self) -> tuple[Field, ...]:
        """What decides whether it takes a row, and to which topic."""
        return (*(field for field, _ in self.when), *self.topic.fields)

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that it needs beyond those of the mapping."""
        templates = [self.key, self.partition, self.timestamp, *(template for _, template in self.headers)]
        filled = [column for template in templates if template is not None for column in template.columns]
        return (*(field.column for field in self.deciding_fields), *filled, *self.envelope.columns)


DEFAULT_ROUTE = Route(DEFAULT_TOPIC, Policy(str(DEFAULT_TOPIC)))
UNROUTED = Policy("")  # of rows that no route takes


@dataclass(frozen=True, slots=True)
class Outbox(EventColumns):
    """An outbox table, or the messages of a prefix; of its routes the first match wins."""

    routes: tuple[Route, ...] = (DEFAULT_ROUTE,)
    unrouted: Policy = UNROUTED
    message_prefix: str | None = None  # table-less: pg_logical_emit_message with this prefix
    places: tuple[tuple[str, str], ...] = ()  # column, and where the configuration asks for it

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that the mapping and the routes need, each once."""
        routed = (column for route in self.routes for column in route.columns)
        return tuple(dict.fromkeys((*self.mapped_columns, *routed)))

    @property
    def deciding_fields(self) -> tuple[Field, ...]:
        """What decides where a row goes, each once."""
        return tuple(dict.fromkeys(self._deciding()))

    @property
    def fixed_topics(self) -> tuple[str, ...]:
        """Those that a route names without looking at a row."""
        return tuple(str(route.topic) for route in self.routes if route.topic.is_fixed and not route.drop)

    def _deciding(self) -> Iterator[Field]:
        for route in self.routes:
            yield from route.deciding_fields
