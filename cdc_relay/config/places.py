"""Where in the file something stands: which line names a column, and what an operator may not have meant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cdc_relay.config.problems import KeyPath, show_path
from cdc_relay.config.routes import RouteConfig, find_shadowed

if TYPE_CHECKING:
    from cdc_relay.config.models import RelayConfig
    from cdc_relay.config.outbox import OutboxConfig

__all__ = ["Places", "find_warnings", "places_of_columns"]


@dataclass(frozen=True, slots=True)
class Places:
    """Of a configuration that was read from a file."""

    file: str = ""
    lines: Mapping[KeyPath, tuple[int, int]] = field(default_factory=dict)

    def show(self, path: KeyPath) -> str:
        """`relay.yaml:14: outboxes[0].routes[1]`; the line is of the key, or of the nearest one above it."""
        above = path
        while above and above not in self.lines:
            above = above[:-1]
        line = self.lines.get(above, (0, 0))[0]
        return f"{self.file}:{line}: {show_path(path)}" if line else show_path(path)


def find_warnings(config: RelayConfig) -> Iterator[str]:
    for outbox_place, outbox in enumerate(config.outboxes):
        for place, earlier in find_shadowed(outbox.routes):
            where = config.places.show(("outboxes", outbox_place, "routes", place))
            yield f"{where}: no row reaches it: routes[{earlier}] takes all of its rows before"
    if config.sink.kafka is None:
        yield from _lost_rows(config)


def _lost_rows(config: RelayConfig) -> Iterator[str]:
    """Counted as delivered, and then removed from the one place that has them."""
    for place, outbox in enumerate(config.outboxes):
        own = outbox.retention_seconds
        if outbox.table is not None and (config.retention.outbox_seconds if own is None else own):
            where = config.places.show(("retention", "outbox") if own is None else ("outboxes", place, "retention"))
            sink = "log" if config.sink.none is None else "none"
            yield f"{where}: rows of {outbox.label} are removed although sink: {sink} publishes them nowhere"


def places_of_columns(places: Places, outbox: OutboxConfig, outbox_place: int) -> dict[str, str]:
    """By column, where the file first asks for it."""
    found: dict[str, str] = {}
    for path, column in _asked(outbox):
        found.setdefault(column, places.show(("outboxes", outbox_place, *path)))
    return found


def _asked(outbox: OutboxConfig) -> Iterator[tuple[KeyPath, str]]:
    for name in type(outbox.columns).model_fields:
        column = getattr(outbox.columns, name)
        if column is not None:
            yield ("columns", name), column
    for place, route in enumerate(outbox.routes):
        for key, column in _asked_by_route(route):
            yield ("routes", place, key), column


def _asked_by_route(route: RouteConfig) -> Iterator[tuple[str, str]]:
    yield from (("when", field.column) for field in route.when)
    for key in ("topic", "key", "partition", "timestamp"):
        template = getattr(route, key)
        yield from ((key, column) for column in (template.columns if template is not None else ()))
    for template in route.headers.values():
        yield from (("headers", column) for column in template.columns)
    yield from (("envelope", column) for column in route.envelope.columns)
