"""Where an outbox's rows go, as the file spells it. Judges no row."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from cdc_relay.config.fields import OnDead, Ordering, RouteName, TopicTemplate, When, fail
from cdc_relay.config.retry import RetryConfig
from cdc_relay.config.section import Section
from cdc_relay.routing.outbox import DEFAULT_TOPIC

__all__ = ["RouteConfig", "check_routes", "default_routes"]


class RouteConfig(Section):
    """Rows that match `when` go to `topic`; the first route that matches wins."""

    name: RouteName | None = Field(
        default=None,
        description="What operators see in the lot and in logs. Left out: the topic template, numbered where needed.",
    )
    when: When = Field(
        default_factory=dict,
        description="`{column: value}`, all of which a row must have exactly, as Postgres prints them (a boolean is t "
        "or f); NULL matches nothing. Without it every row matches. The first route that matches wins; a row "
        "without one is parked as dead.",
    )
    topic: TopicTemplate = Field(
        description="Topic name; `{column}` is the row's value. Without routes it is `outbox.event.{aggregatetype}`. "
        "A row with NULL there, or whose value makes a name that Kafka does not allow, is parked as dead."
    )
    ordering: Ordering | None = Field(
        default=None,
        description="`strict`: later records of a key wait for a failed one, and a NULL key is a failure. `relaxed`: "
        "they go on. Left out: delivery.ordering.",
    )
    on_dead: OnDead | None = Field(
        default=None,
        description="Whether a strict key goes on (`continue`) behind a dead record or waits for an operator "
        "(`hold`). Left out: delivery.on_dead.",
    )
    retry: RetryConfig = Field(default_factory=RetryConfig)


def default_routes() -> tuple[RouteConfig, ...]:
    return (RouteConfig(topic=DEFAULT_TOPIC),)


def check_routes(routes: tuple[RouteConfig, ...]) -> tuple[RouteConfig, ...]:
    if not routes:
        raise ValueError(f"at least one route is needed; remove the key for the default, topic {DEFAULT_TOPIC}")
    fail(_names_twice([route.name for route in routes]))
    return routes


def _names_twice(names: list[str | None]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    for place, name in enumerate(names):
        if name is not None and name in names[:place]:
            yield (place, "name"), f"the same name as routes[{names.index(name)}]"
