"""Where an outbox's rows go, as the file spells it. Judges no row."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pydantic import Field, model_validator

from cdc_relay.config.envelopes import EnvelopeChoice
from cdc_relay.config.fields import Flag, OnDead, Ordering, RouteName, fail
from cdc_relay.config.retry import RetryConfig
from cdc_relay.config.route_types import HeaderTemplates, TopicTemplate, ValueTemplate, When
from cdc_relay.config.section import Section
from cdc_relay.routing.conditions import covers
from cdc_relay.routing.outbox import DEFAULT_ENVELOPE, DEFAULT_TOPIC
from cdc_relay.routing.parts import read_partition, read_timestamp_ms

__all__ = ["RouteConfig", "check_routes", "default_routes", "find_shadowed"]


class RouteConfig(Section):
    """Rows that match `when` go to `topic`; the first route that matches wins."""

    name: RouteName | None = Field(
        default=None,
        description="What operators see in the lot and in logs. Left out: the topic template, numbered where needed.",
    )
    when: When = Field(
        default_factory=dict,
        description="`{column: value}`, all of which must hold, as Postgres prints values (a boolean is t or f, in "
        "JSON true or false): a text, one with `*` (any text) or `?` (any character), a list of which one must "
        "hold, null for NULL, `{not: …}` for the opposite of any of these, `{exact: …}` for a text with a "
        "star in it. A place in a JSON column is `payload.customer.tier`. Without it every row matches. The "
        "first route that matches wins; a row without one is parked as dead.",
    )
    drop: Flag = Field(default=False, description="The rows are for nobody: settled and counted, not published.")
    topic: TopicTemplate | None = Field(
        default=None,
        description="Topic name; `{column}` is the row's value, `{payload.customer.id}` a place in a JSON column. "
        "Required, but for drop. Without routes it is `outbox.event.{aggregatetype}`. "
        "A row with NULL there, or whose value makes a name that Kafka does not allow, is parked as dead.",
    )
    key: ValueTemplate | None = Field(
        default=None,
        description="Record key. A column alone may be NULL and gives a null key; NULL inside a longer template is a "
        "failure. Left out: the column of outboxes[].columns.key.",
    )
    partition: ValueTemplate | None = Field(
        default=None,
        description="Partition, a whole number from 0; NULL leaves it to the partitioner. Left out: the column of "
        "outboxes[].columns.partition, or the partitioner.",
    )
    timestamp: ValueTemplate | None = Field(
        default=None,
        description="The record's time: a timestamptz, a timestamp in UTC, or milliseconds since 1970; NULL is the "
        "commit's. Left out: the column of outboxes[].columns.timestamp, or the commit's.",
    )
    headers: HeaderTemplates = Field(
        default_factory=dict,
        description="Further headers, after those of the envelope: `{name: template}`. NULL gives a header without "
        "a value.",
    )
    envelope: EnvelopeChoice = Field(
        default=DEFAULT_ENVELOPE,
        description="What value and headers look like: see docs/envelopes.md.",
    )
    ordering: Ordering | None = Field(
        default=None,
        description="`strict`: later records of a key wait for a failed one, and a NULL key is a failure. `relaxed`: "
        "they go on. Left out: delivery.ordering.",
    )
    on_dead: OnDead | None = Field(
        default=None,
        description="Whether a strict key goes on (`continue`) behind a dead record or waits for an operator "
        "(`hold`); a row that never became a record holds nothing. Left out: delivery.on_dead.",
    )
    retry: RetryConfig = Field(default_factory=RetryConfig)

    @model_validator(mode="after")
    def _goes_somewhere(self) -> RouteConfig:
        if self.topic is None and not self.drop:
            fail([(("topic",), "missing; it is required, but for drop: true")])
        impossible = [key for key in _READERS if self._is_impossible(key)]
        fail(((key,), f"no row can make this a {key}; write {_POSSIBLE[key]}, or a {{column}}") for key in impossible)
        if self.drop:
            fail(((key,), "has no use beside drop: true") for key in _OF_RECORDS if self._says(key))
        return self

    def _is_impossible(self, key: str) -> bool:
        """Every row would fail by it: a text without a column, or one beside a column that is no part of a number."""
        template = getattr(self, key)
        if template is None:
            return False
        if not template.is_fixed:
            return key == "partition" and not all(text.isdecimal() for text in template.literals if text)
        try:
            _READERS[key](template.literals[0].encode())
        except ValueError:
            return True
        return False

    def _says(self, key: str) -> bool:
        return bool(getattr(self, key) != type(self).model_fields[key].get_default(call_default_factory=True))


_READERS: dict[str, Callable[[bytes], int]] = {"partition": read_partition, "timestamp": read_timestamp_ms}
_POSSIBLE = {"partition": "a whole number from 0", "timestamp": "milliseconds since 1970"}
_OF_RECORDS = ("topic", "key", "partition", "timestamp", "headers", "envelope", "ordering", "on_dead", "retry")


def default_routes() -> tuple[RouteConfig, ...]:
    return (RouteConfig(topic=DEFAULT_TOPIC),)


def check_routes(routes: tuple[RouteConfig, ...]) -> tuple[RouteConfig, ...]:
    if not routes:
        raise ValueError(f"at least one route is needed; remove the key for the default, topic {DEFAULT_TOPIC}")
    fail(_names_twice([route.name for route in routes]))
    return routes


def _names_twice(names: list[str | None]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    firsts: dict[str, int] = {}
    for place, name in enumerate(names):
        if name is not None and (first := firsts.setdefault(name, place)) != place:
            yield (place, "name"), f"the same name as routes[{first}]"


def find_shadowed(routes: tuple[RouteConfig, ...]) -> Iterator[tuple[int, int]]:
    """Places of routes that no row can reach, each with the earlier one that takes all of its rows."""
    for place, route in enumerate(routes):
        for earlier_place, earlier in enumerate(routes[:place]):
            if _takes_all_of(earlier, route):
                yield place, earlier_place
                break


def _takes_all_of(earlier: RouteConfig, route: RouteConfig) -> bool:
    return all(field in route.when and covers(wide, route.when[field]) for field, wide in earlier.when.items())
