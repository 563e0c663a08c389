"""Routes that say more than a topic: key, partition, time, headers, and rows that are dropped."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cdc_relay.model import DROPPED, Policy, Record, Transaction, Unroutable
from cdc_relay.protocol.messages import Column, Relation
from cdc_relay.routing.conditions import Exact
from cdc_relay.routing.fields import Field
from cdc_relay.routing.router import Outbox, Route, Router
from cdc_relay.routing.templates import Template

OUTBOX = Outbox("public", "outbox", "public.outbox", "id", "aggregateid", "type", "payload")
COLUMNS = ("id", "aggregatetype", "aggregateid", "type", "payload", "tenant", "part", "at", "extra")
TRANSACTION = Transaction(commit_lsn=0x16B3748, commit_time_us=7_000, xid=7)
ROW = {
    "id": b"e1",
    "aggregatetype": b"order",
    "aggregateid": b"k1",
    "type": b"Placed",
    "payload": b'{"customer": {"id": 42}}',
    "tenant": b"acme",
    "part": b"3",
    "at": b"2023-11-14 22:13:20.5+00",
    "extra": b'{"a": "x", "b": null, "c": 1.50}',
}


def make_route(
    topic: str = "orders", *, strict: bool = False, headers: tuple[tuple[str, str], ...] = (), **parts: str
) -> Route:
    templates = {name: Template.parse(text) for name, text in parts.items()}
    given = tuple((name, Template.parse(text)) for name, text in headers)
    return Route(Template.parse(topic), Policy(topic, strict=strict), headers=given, **templates)  # type: ignore[arg-type]  # of Templates


def route(*routes: Route, outbox: Outbox = OUTBOX, **row: bytes | None) -> object:
    described = tuple(Column(name, 25, -1, False) for name in COLUMNS)
    plan = Router([replace(outbox, routes=routes)]).plan(
        Relation(1, "public", "outbox", "d", described), now_us=lambda: 0
    )
    assert plan is not None
    values = ROW | row
    return plan.route(tuple(values[name] for name in COLUMNS), TRANSACTION, 0, 7)


def routed(*routes: Route, outbox: Outbox = OUTBOX, **row: bytes | None) -> Record:
    record = route(*routes, outbox=outbox, **row)
    assert isinstance(record, Record), record
    return record


def code_of(*routes: Route, outbox: Outbox = OUTBOX, **row: bytes | None) -> str:
    unroutable = route(*routes, outbox=outbox, **row)
    assert isinstance(unroutable, Unroutable), unroutable
    assert unroutable.failure.remedy
    return unroutable.failure.code


# --- topic and key


def test_a_place_in_the_payload_may_name_the_topic_and_the_key() -> None:
    record = routed(make_route("c.{payload.customer.id}", key="{tenant}/{payload.customer.id}"))
    assert (record.topic, record.key) == ("c.42", b"acme/42")


def test_a_place_in_the_payload_may_decide_the_route() -> None:
    when = ((Field("payload", ("customer", "id")), Exact(b"42")),)
    routes = (replace(make_route("vip"), when=when), make_route("rest"))
    plain = b'{"customer": {"id": 7}}'
    assert (routed(*routes).topic, routed(*routes, payload=plain).topic) == ("vip", "rest")


def test_what_the_payload_has_is_not_told_when_no_route_matches() -> None:
    when = ((Field("payload", ("customer", "id")), Exact(b"1")), (Field("tenant"), Exact(b"x")))
    unroutable = route(replace(make_route(), when=when))
    assert isinstance(unroutable, Unroutable)
    assert "tenant='acme'" in unroutable.failure.reason
    assert "42" not in unroutable.failure.reason


def test_a_null_column_alone_is_a_null_key_and_inside_a_longer_key_a_failure() -> None:
    assert routed(make_route(key="{tenant}"), tenant=None).key is None
    assert code_of(make_route(key="{tenant}/{id}"), tenant=None) == "null_in_key"


def test_a_null_key_on_a_strict_route_is_a_failure() -> None:
    assert code_of(make_route(key="{tenant}", strict=True), tenant=None) == "null_key"


# --- partition and time


def test_a_partition_is_the_column_s_or_the_partitioner_s() -> None:
    assert [routed(make_route(partition="{part}"), part=part).partition for part in (b"3", b"0", None)] == [3, 0, -1]
    assert routed(make_route(partition="5")).partition == 5
    assert routed(make_route(), outbox=replace(OUTBOX, partition_column="part")).partition == 3


@pytest.mark.parametrize("part", [b"-1", b"", b"x", b"1.0", b"2147483648", b"0" * 11 + b"9", b"9" * 100, "²".encode()])
def test_what_is_no_partition_is_a_failure(part: bytes) -> None:
    assert code_of(make_route(partition="{part}"), part=part) == "bad_partition"


@pytest.mark.parametrize(
    ("at", "timestamp_ms"),
    [
        (b"2023-11-14 22:13:20.5+00", 1_700_000_000_500),
        (b"2023-11-14 22:13:20.5", 1_700_000_000_500),
        (b"1700000000500", 1_700_000_000_500),
        (b"1970-01-01 00:00:00+00", 0),
        (None, 7),
    ],
)
def test_the_time_is_the_column_s_or_the_commit_s(at: bytes | None, timestamp_ms: int) -> None:
    assert routed(make_route(timestamp="{at}"), at=at).timestamp_ms == timestamp_ms
    assert routed(make_route(), outbox=replace(OUTBOX, timestamp_column="at"), at=at).timestamp_ms == timestamp_ms


@pytest.mark.parametrize(
    "at",
    [b"infinity", b"soon", b"1969-12-31 23:59:59+00", b"0044-03-15 00:00:00+00 BC", b"-5", b"9" * 16, b"9" * 300],
)
def test_what_is_no_time_for_kafka_is_a_failure(at: bytes) -> None:
    assert code_of(make_route(timestamp="{at}"), at=at) == "bad_timestamp"


# --- headers


def test_headers_are_the_envelope_s_then_the_column_s_then_the_route_s() -> None:
    outbox = replace(OUTBOX, headers_column="extra")
    record = routed(make_route(headers=(("tenant", "{tenant}"), ("a", "again"), ("n", "{at}"))), outbox=outbox, at=None)
    assert record.headers == [
        ("id", b"e1"),
        ("a", b"x"),
        ("b", None),
        ("c", b"1.50"),
        ("tenant", b"acme"),
        ("a", b"again"),
        ("n", None),
    ]
    assert record.size_bytes == sum(len(name) + len(value or b"") for name, value in record.headers) + 2 + 24


def test_a_null_headers_column_is_none() -> None:
    assert routed(make_route(), outbox=replace(OUTBOX, headers_column="extra"), extra=None).headers == [("id", b"e1")]


@pytest.mark.parametrize("extra", [b"", b"[]", b"nonsense", b'{"a": 1', b'{"\\ud800": 1}', b'{"a": "\\ud800"}'])
def test_a_headers_column_that_is_no_object_is_a_failure(extra: bytes) -> None:
    assert code_of(make_route(), outbox=replace(OUTBOX, headers_column="extra"), extra=extra) == "bad_headers"


# --- drop


def test_a_row_that_a_route_drops_goes_nowhere() -> None:
    drop = replace(make_route(), drop=True, when=((Field("tenant"), Exact(b"acme")),))
    assert route(drop, make_route("rest")) is DROPPED
    assert routed(drop, make_route("rest"), tenant=b"other").topic == "rest"
