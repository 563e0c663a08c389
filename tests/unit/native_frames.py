"""Outboxes of every kind, and hypothesis' streams for them: usual frames mostly, each unusual thing now and then."""

from __future__ import annotations

from dataclasses import replace
from struct import pack
from typing import Literal

from hypothesis import strategies as st

from cdc_relay.model import Policy
from cdc_relay.routing.conditions import Condition, Exact, IsNull
from cdc_relay.routing.envelopes.cloudevents import CloudEvents
from cdc_relay.routing.fields import Field
from cdc_relay.routing.router import DEFAULT_ROUTE, Outbox, Route
from cdc_relay.routing.templates import Template
from tests.unit import frames
from tests.unit.intake_rig import OUTBOX

__all__ = ["COLUMNS", "MESSAGES", "NINE", "OUTBOXES", "Step", "raw_insert", "steps"]

MORE = ("headers", "due", "tenant")
NINE = tuple(f"c{number}" for number in range(9))
COLUMNS = (*frames.OUTBOX_COLUMNS, *MORE)
PARSED = Template.parse


def _route(topic: str, *, when: tuple[tuple[Field, Condition], ...] = (), strict: bool = False) -> Route:
    return Route(PARSED(topic), Policy(topic, strict=strict), when=when)


def _events(mode: Literal["binary", "structured"]) -> Route:
    return Route(PARSED("events.{aggregatetype}"), Policy("events"), envelope=CloudEvents(mode))


_TYPE = Field("type")
_ROUTES = (
    Route(Template(("",)), Policy("drop"), when=((_TYPE, Exact(b"Drop")),), drop=True),
    _route("strict", when=((_TYPE, Exact(b"Strict")),), strict=True),
    _route("null.{aggregatetype}", when=((_TYPE, IsNull()),)),
    _route("{aggregatetype}.{type}"),
)
_FULL = Route(
    PARSED("full.{type}"), Policy("full"), key=PARSED("{aggregateid}-{id}"), headers=(("t", PARSED("{type}")),)
)
_INSIDE = _route("in.{aggregatetype}", when=((Field("payload", ("n",)), Exact(b"1")),))

OUTBOXES = {
    "default": OUTBOX,
    "several routes": replace(OUTBOX, routes=_ROUTES),
    "one topic": replace(OUTBOX, routes=(_route("all"),)),
    "one strict topic": replace(OUTBOX, routes=(_route("all", strict=True),)),
    "full": replace(OUTBOX, routes=(_FULL,)),
    "headers column": replace(OUTBOX, headers_column="headers"),
    "scheduled": replace(OUTBOX, schedule_column="due"),
    "tenant": replace(OUTBOX, tenant_column="tenant"),
    "inside the payload": replace(OUTBOX, routes=(_INSIDE, DEFAULT_ROUTE)),
    "cloudevents": replace(OUTBOX, routes=(_events("binary"),), tenant_column="tenant"),
    "cloudevents, structured": replace(OUTBOX, routes=(_events("structured"),), tenant_column="tenant"),
    "nine fields": replace(OUTBOX, routes=(_route("n" + "".join(f".{{{name}}}" for name in NINE)),)),
}
MESSAGES = Outbox("", "", "message prefix outbox", "id", "aggregateid", "type", "payload", message_prefix="outbox")

Value = bytes | str | None  # a str is the kind of a column that has no value: 'u', 'b', 'x'
Step = tuple[object, ...]

_VALUES = st.sampled_from(
    [
        b"",
        b"e1",
        b"order",
        b"k1",
        b"Drop",
        b"Strict",
        b'{"n": 1}',
        b"\\x6162",
        b"\\xZ",
        b"bad topic!",
        b"\xff",
        b"9" * 1100,
        b'{"a": "b"}',
        b"2030-01-01 00:00:00+00",
        b"1990-01-01 00:00:00+00",
        None,
    ]
)
_ODD_VALUES: st.SearchStrategy[Value] = st.one_of(_VALUES, st.sampled_from(["u", "b", "x"]))
_ROWS: st.SearchStrategy[list[Value]] = st.one_of(
    st.lists(_VALUES, min_size=5, max_size=5),
    st.lists(_VALUES, min_size=8, max_size=8),
    st.lists(_ODD_VALUES, min_size=8, max_size=8),
    st.lists(_ODD_VALUES, max_size=10),
)
_TABLES = st.sampled_from(["outbox", "outbox", "other", "audit"])
_COLUMNS = st.one_of(
    st.sampled_from([frames.OUTBOX_COLUMNS, COLUMNS, (*frames.OUTBOX_COLUMNS, *NINE)]),
    st.permutations(COLUMNS).map(tuple),
    st.lists(st.sampled_from(COLUMNS), max_size=6, unique=True).map(tuple),
)
_RELATIONS = st.sampled_from([1, 1, 2, 3])
_TIMES = st.sampled_from([0, 1, 999, -1, -(1 << 62), 1 << 61, 10**15 + 1, 6_400_000_000 * 10**6 * 1000])  # since 2000
_STEPS = st.sampled_from([1, 1, 7, 100, 0, -3, 1 << 40])

_DAMAGE: st.SearchStrategy[Step | None] = st.one_of(
    st.none(),
    st.none(),
    st.none(),
    st.none(),
    st.tuples(st.just("cut"), st.integers(0, 60)),
    st.tuples(st.just("append"), st.binary(min_size=1, max_size=6)),
    st.tuples(st.just("set"), st.integers(0, 60), st.sampled_from(b"\0\1\x7f\x80\xfftnubNKOIBCUwk")),
    st.just(("view",)),
)
_ACTIONS: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("insert"), _RELATIONS, _ROWS),
    st.tuples(st.just("insert"), st.just(1), _ROWS),
    st.tuples(st.just("insert"), st.just(1), st.lists(_VALUES, min_size=5, max_size=5)),
    st.tuples(st.just("turn"), _TIMES, st.integers(0, 0xFFFF_FFFF)),  # begin, or commit, whichever is possible
    st.tuples(st.just("begin"), _STEPS, _TIMES, st.integers(0, 0xFFFF_FFFF)),
    st.tuples(st.just("commit"), _STEPS, _TIMES, st.sampled_from([0, 0, 0, 1])),
    st.tuples(st.just("relation"), _RELATIONS, _TABLES, _COLUMNS, st.sampled_from([25, 17, 3802])),
    st.tuples(st.just("relation"), st.just(1), st.just("outbox"), st.just(frames.OUTBOX_COLUMNS), st.just(25)),
    st.tuples(st.just("keepalive"), _STEPS, st.booleans()),
    st.tuples(st.just("message"), _VALUES.map(lambda value: value or b""), st.booleans()),
    st.tuples(st.just("other"), st.sampled_from(["U", "D", "T", "O", "Y", "S", "E", "b"]), _RELATIONS),
)
_DEEDS: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("settle"), st.integers(0, 9)),
    st.tuples(st.just("settle_all"), st.integers(0, 9)),
    st.just(("idle",)),
    st.just(("report",)),
    st.tuples(st.just("condemn"), _ROWS),
)


def steps() -> st.SearchStrategy[list[tuple[Step, Step | None]]]:
    usual = st.tuples(_ACTIONS, st.none())
    odd = st.tuples(_ACTIONS, _DAMAGE)
    deed = st.tuples(_DEEDS, st.none())
    return st.lists(st.one_of(usual, usual, odd, deed), max_size=40)


def raw_insert(relation_id: int, row: list[Value]) -> bytes:
    body = b"I" + pack(">I", relation_id) + b"N" + pack(">H", len(row))
    for value in row:
        if isinstance(value, str):
            body += value.encode() + (pack(">I", 1) + b"x" if value != "u" else b"")
        else:
            body += b"n" if value is None else b"t" + pack(">I", len(value)) + value
    return frames.xlog(body)
