"""Where rows go: an outbox's routes, bound to a relation's columns and cached by the values that decide."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from cdc_relay.routing import refusals
from cdc_relay.routing.bound_route import BoundRoute, Destination
from cdc_relay.routing.fields import Values
from cdc_relay.routing.outbox import Outbox
from cdc_relay.routing.places import Places

__all__ = ["Destinations"]

_CACHE_LIMIT = 10_000
_LONGEST_CACHED_BYTES = 1024  # a row whose deciding values are longer is judged each time: the cache stays below 10 MiB


class Destinations:
    """One dict lookup for a row like an earlier one: `known(key)` with `key = depends(row)`, else `find(row, key)`.

    A place inside JSON has to be looked up in each row, so it is done once; columns alone are picked in C.
    """

    __slots__ = ("_has_paths", "_outbox", "_readers", "_routes", "_when", "cache", "columns", "depends", "known")

    def __init__(self, outbox: Outbox, places: Places) -> None:
        fields = outbox.deciding_fields
        self._outbox = outbox
        self._routes = [BoundRoute(route, outbox, places) for route in outbox.routes]
        asked = dict.fromkeys(field for route in outbox.routes for field, _ in route.when)
        self._when = [(field, fields.index(field)) for field in asked if field.column != outbox.payload_column]
        self.cache: dict[object, Destination] = {}
        self.known = self.cache.get
        self._readers = [places.reader(field) for field in fields]
        self._has_paths = any(field.path for field in fields)
        self.columns = None if self._has_paths else tuple(places.indexes[field.column] for field in fields)
        self.depends: Callable[[Values], object] = (
            self._read if self._has_paths else places.pick([field.column for field in fields])
        )

    def find(self, row: Values, key: object) -> Destination:
        destination = self._judge(cast(Values, key) if self._has_paths else self._read(row))
        if _size(key) <= _LONGEST_CACHED_BYTES:
            if len(self.cache) >= _CACHE_LIMIT:
                self.cache.clear()
            self.cache[key] = destination
        return destination

    def _read(self, row: Values) -> Values:
        return tuple(read(row) for read in self._readers)

    def _judge(self, values: Values) -> Destination:
        for route in self._routes:
            if route.takes(values):
                return route.find_destination(values)
        outbox = self._outbox
        asked = [(field, values[place]) for field, place in self._when]
        return Destination("", outbox.unrouted, failure=refusals.no_route(outbox.label, asked))


def _size(values: object) -> int:
    parts = values if isinstance(values, tuple) else (values,)
    return sum(len(part) for part in parts if part is not None)
