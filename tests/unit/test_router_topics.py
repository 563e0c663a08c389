"""The topic that a row names: legal or a failure, and remembered within bounds."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cdc_relay.model import Record, Unroutable
from cdc_relay.routing.bound_route import Destination
from cdc_relay.routing.destinations import Destinations
from cdc_relay.routing.places import Places
from cdc_relay.routing.router import DEFAULT_ROUTE, Route
from cdc_relay.routing.templates import Template
from tests.unit.router_rig import OUTBOX, TRANSACTION, failed, make_plan, relation, route, routed

PREFIX = "outbox.event."


@pytest.mark.parametrize(
    "aggregate_type",
    [
        "a/b",
        "a b",
        "a\n",
        "\n",
        "a\0",
        "Bestellung-ä",
        "заказ",
        "a\u0660",
        "注文",
        "a:b",
        "a,b",
        "{x}",
        "a" * 237,
        "a" * 10**6,
    ],
)
def test_a_topic_name_that_kafka_does_not_allow_is_a_failure(aggregate_type: str) -> None:
    failure = failed(b"e1", aggregate_type.encode(), b"k1", b"Placed", b"{}")
    assert failure.code == "illegal_topic"
    assert "aggregatetype" in failure.reason
    assert "249" in failure.remedy


@pytest.mark.parametrize("aggregate_type", ["", ".", "..", "a" * 236, "A-Z_a.z-0", "order.item"])
def test_a_topic_name_that_kafka_allows_is_used(aggregate_type: str) -> None:
    assert routed(b"e1", aggregate_type.encode(), b"k1", b"Placed", b"{}").topic == PREFIX + aggregate_type


@pytest.mark.parametrize("whole", [".", ".."])
def test_the_two_reserved_names_are_illegal_where_a_template_makes_them(whole: str) -> None:
    outbox = replace(OUTBOX, routes=(Route(Template.parse("{aggregatetype}"), DEFAULT_ROUTE.policy),))
    unroutable = make_plan(relation(), outbox).route(
        (b"e1", whole.encode(), b"k1", b"Placed", b"{}"), TRANSACTION, 0, 0
    )
    assert isinstance(unroutable, Unroutable)
    assert unroutable.failure.code == "illegal_topic"


@given(st.binary(max_size=300) | st.text("abcXYZ019._-/ é", max_size=300).map(str.encode))
@example(b"\xff\xfe")
@example(b"a\n")
def test_any_value_makes_a_legal_topic_or_a_failure(aggregate_type: bytes) -> None:
    outcome = route(b"e1", aggregate_type, b"k1", b"Placed", b"{}")
    if isinstance(outcome, Unroutable):
        assert outcome.failure.code == "illegal_topic"
    else:
        assert re.fullmatch(r"[A-Za-z0-9._-]{1,249}", outcome.topic, re.ASCII)
        assert outcome.topic.encode() == PREFIX.encode() + aggregate_type


def test_a_failure_never_shows_the_row_s_values() -> None:
    failure = failed(b"e1", b"sesame/4711", b"k1", b"Placed", b"{}")
    assert "sesame" not in str(failure)


def test_a_failed_row_does_not_spoil_the_next() -> None:
    plan = make_plan(relation())
    for _ in range(2):  # the second time from the cache
        assert isinstance(plan.route((b"e1", b"a/b", b"k", b"t", b"{}"), TRANSACTION, 0, 0), Unroutable)
        assert isinstance(plan.route((b"e2", None, b"k", b"t", b"{}"), TRANSACTION, 0, 0), Unroutable)
        assert isinstance(plan.route((b"e3", b"ok", b"k", b"t", b"{}"), TRANSACTION, 0, 0), Record)


def find(destinations: Destinations, aggregate_type: bytes) -> Destination:
    row = (b"e", aggregate_type, b"k", b"t", b"{}")
    return destinations.find(row, destinations.depends(row))


def test_the_cache_is_bounded_and_forgets_nothing_that_matters() -> None:
    destinations = Destinations(OUTBOX, Places(relation().columns))
    for number in range(25_000):
        assert find(destinations, str(number).encode()).topic == f"outbox.event.{number}"
    assert len(destinations.cache) <= 10_000


def test_a_long_value_is_judged_each_time_and_not_kept() -> None:
    destinations = Destinations(OUTBOX, Places(relation().columns))
    assert find(destinations, b"a" * 10_000).failure is not None
    assert destinations.cache == {}
