"""What holds for a route once delivery's values have filled what it leaves out, and what cannot hold together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cdc_relay.config.delivery import DeliveryConfig
from cdc_relay.config.routes import RouteConfig
from cdc_relay.config.units import format_duration
from cdc_relay.delivery.backoff import STANDARD
from cdc_relay.model import Policy, Retry

__all__ = ["find_policy_problems", "policy_of", "retry_of"]

_Problem = tuple[tuple[str | int, ...], str]


def retry_of(delivery: DeliveryConfig) -> Retry:
    return delivery.retry.over(STANDARD)


def policy_of(route: RouteConfig, delivery: DeliveryConfig, *, name: str) -> Policy:
    """A relaxed route holds nothing, even where delivery.on_dead says hold."""
    strict = (route.ordering or delivery.ordering) == "strict"
    hold_dead = strict and (route.on_dead or delivery.on_dead) == "hold"
    return Policy(name, strict=strict, hold_dead=hold_dead, retry=route.retry.over(retry_of(delivery)))


def find_policy_problems(delivery: DeliveryConfig, routes: Iterable[tuple[RouteConfig, ...]]) -> Iterator[_Problem]:
    """`routes`: of each outbox."""
    inherited = retry_of(delivery)
    yield from _retry_problems(("delivery", "retry"), inherited)
    for outbox_place, of_outbox in enumerate(routes):
        for place, route in enumerate(of_outbox):
            path = ("outboxes", outbox_place, "routes", place)
            own = route.retry.over(inherited)
            if own != inherited:
                yield from _retry_problems((*path, "retry"), own)
            if route.on_dead == "hold" and (route.ordering or delivery.ordering) != "strict":
                yield (*path, "on_dead"), "hold needs ordering: strict, here or under delivery"


def _retry_problems(path: tuple[str | int, ...], retry: Retry) -> Iterator[_Problem]:
    if retry.base_seconds > retry.max_seconds:
        longest = format_duration(retry.max_seconds)
        yield path, f"base is longer than max, which is {longest} here; set max too"
