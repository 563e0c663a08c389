"""Where rows go: `when` and topic templates, bound to a relation's columns and cached by the values they depend on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import NamedTuple

from cdc_relay.model import Failure, Policy
from cdc_relay.routing import refusals
from cdc_relay.routing.outbox import Outbox, Route
from cdc_relay.routing.topics import is_legal_topic

__all__ = ["Destination", "Destinations", "Values", "pick"]

_CACHE_LIMIT = 10_000
_LONGEST_CACHED_BYTES = 1024  # a row whose deciding values are longer is judged each time: the cache stays below 10 MiB

Values = tuple[bytes | None, ...]  # an inserted row: every column is there


class Destination(NamedTuple):
    """A topic, or why there is none; the policy is that of the route that took the row."""

    topic: str
    policy: Policy
    failure: Failure | None = None


class Destinations:
    """One dict lookup for a row like an earlier one: `known(depends(row))`; `find(row)` where that gives None."""

    __slots__ = ("_cache", "_columns", "_label", "_routes", "_unrouted", "depends", "known")

    def __init__(self, outbox: Outbox, indexes: Mapping[str, int]) -> None:
        self._label = outbox.label
        self._unrouted = outbox.unrouted
        self._routes = [_BoundRoute(route, indexes) for route in outbox.routes]
        self._columns = tuple(dict.fromkeys(column for route in outbox.routes for column, _ in route.when))
        self._cache: dict[object, Destination] = {}
        self.known = self._cache.get
        self.depends: Callable[[Values], object] = pick([indexes[column] for column in outbox.route_columns])

    def find(self, row: Values) -> Destination:
        destination = self._judge(row)
        values = self.depends(row)
        if _size(values) <= _LONGEST_CACHED_BYTES:
            if len(self._cache) >= _CACHE_LIMIT:
                self._cache.clear()
            self._cache[values] = destination
        return destination

    def _judge(self, row: Values) -> Destination:
        for route in self._routes:
            if route.matches(row):
                return route.render(row)
        return Destination("", self._unrouted, refusals.no_route(self._label, self._columns))


class _BoundRoute:
    """A route with its columns' places in the row."""

    __slots__ = ("_columns", "_policy", "_template", "_wanted")

    def __init__(self, route: Route, indexes: Mapping[str, int]) -> None:
        self._template = route.topic
        self._policy = route.policy
        self._columns = [indexes[column] for column in route.topic.columns]
        self._wanted = [(indexes[column], value) for column, value in route.when]

    def matches(self, row: Values) -> bool:
        return all(row[index] == value for index, value in self._wanted)

    def render(self, row: Values) -> Destination:
        topic = self._template.render([row[index] for index in self._columns])
        if topic is None:
            return Destination("", self._policy, refusals.null_in_topic(self._template.columns))
        if not is_legal_topic(topic):
            return Destination("", self._policy, refusals.illegal_topic(self._template.columns))
        return Destination(topic, self._policy)


def pick(indexes: list[int]) -> Callable[[Values], object]:
    """The values at these places, in C: one alone is itself, and an empty slice is () for every row."""
    return itemgetter(*indexes) if indexes else itemgetter(slice(0))


def _size(values: object) -> int:
    parts = values if isinstance(values, tuple) else (values,)
    return sum(len(part) for part in parts if part is not None)
