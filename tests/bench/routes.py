"""`python -m tests.bench.routes`: what routing costs per event, alone, without decoding and producing.

Read the figures as an order of magnitude: they are of one process on an otherwise idle core.
"""

from __future__ import annotations

import timeit
from collections.abc import Callable
from functools import partial

from cdc_relay.model import Policy, Transaction
from cdc_relay.protocol.messages import Column, Relation
from cdc_relay.routing.conditions import Exact, Glob, Not, OneOf
from cdc_relay.routing.envelopes.native import Native
from cdc_relay.routing.fields import Field
from cdc_relay.routing.router import DEFAULT_ROUTE, Outbox, Route, Router
from cdc_relay.routing.templates import Template

COUNT = 100_000
COLUMNS = ("id", "aggregatetype", "aggregateid", "type", "payload", "region")
ROW = (b"6f1c3a52-8d9e-4b7a-9c61-0d2f4e5a7b80", b"order", b"k1", b"Placed", b'{"customer": {"id": 42}}', b"eu")
ROWS = (ROW, (*ROW[:4], b'{"customer": {"id": 43}}', ROW[5]))
TRANSACTION = Transaction(commit_lsn=1, commit_time_us=7, xid=7)

_ORDERS = OneOf((Exact(b"order"), Glob("refund*")))
_OTHERS = tuple(
    Route(Template.parse(f"t{n}"), Policy(f"t{n}"), ((Field("type"), Exact(b"%d" % n)),)) for n in range(20)
)
CASES = {
    "the default route": (DEFAULT_ROUTE,),
    "the last of 21 routes": (*_OTHERS, DEFAULT_ROUTE),
    "patterns, lists and not": (
        Route(
            Template.parse("{aggregatetype}.{region}"),
            Policy("a"),
            ((Field("aggregatetype"), _ORDERS), (Field("region"), Not(Exact(b"us")))),
        ),
    ),
    "a template for the key": (
        Route(Template.parse("orders"), Policy("a"), key=Template.parse("{region}/{aggregateid}")),
    ),
    "a place in the payload": (Route(Template.parse("c.{payload.customer.id}"), Policy("a")),),
    "the envelope native": (Route(Template.parse("orders"), Policy("a"), envelope=Native()),),
}


def _route_all(route: Callable[..., object]) -> None:
    """Two rows in turn: what was read of a payload is remembered until the next one comes."""
    for row in ROWS:
        route(row, TRANSACTION, 0, 7)


def main() -> None:
    for name, routes in CASES.items():
        outbox = Outbox("public", "outbox", "public.outbox", "id", "aggregateid", "type", "payload", routes=routes)
        described = tuple(Column(column, 25, -1, False) for column in COLUMNS)
        plan = Router([outbox]).plan(Relation(1, "public", "outbox", "d", described), now_us=lambda: 0)
        assert plan is not None
        seconds = min(timeit.repeat(partial(_route_all, plan.route), number=COUNT // len(ROWS), repeat=5))
        print(f"{name:26}{seconds / COUNT * 1e6:6.2f} us")


if __name__ == "__main__":
    main()
