"""Routes of an outbox: which one takes a row, what it asks for, and how a parked row finds its way again."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdc_relay.model import Columns, Dropped, KeptColumn, Policy, Record, Retry, Scheduled, Transaction, Unroutable
from cdc_relay.protocol.messages import Column, Relation
from cdc_relay.routing.conditions import Exact
from cdc_relay.routing.fields import Field
from cdc_relay.routing.router import AnyPlan, Clock, Outbox, Route, Router
from cdc_relay.routing.templates import Template

OUTBOX = Outbox("public", "outbox", "public.outbox", "id", "aggregateid", "type", "payload")
COLUMNS = ("id", "aggregatetype", "aggregateid", "type", "payload", "region", "due")
STRICT = Policy("strict", strict=True, hold_dead=True, retry=Retry(max_retries=1))
NOW_US = 1_700_000_000_000_000  # 2023-11-14 22:13:20
TRANSACTION = Transaction(commit_lsn=0x16B3748, commit_time_us=7_000, xid=7)


def make_route(topic: str, policy: Policy | None = None, **when: str) -> Route:
    wanted = tuple((Field(column), Exact(value.encode())) for column, value in when.items())
    return Route(Template.parse(topic), policy or Policy(topic), wanted)


def make_router(*routes: Route, schedule: str | None = None) -> Router:
    return Router([replace(OUTBOX, routes=routes, schedule_column=schedule)])


def make_plan(router: Router, *columns: str, now_us: Clock = lambda: NOW_US) -> AnyPlan:
    described = tuple(Column(column, 25, -1, False) for column in columns or COLUMNS)
    plan = router.plan(Relation(1, "public", "outbox", "d", described), now_us=now_us)
    assert plan is not None
    return plan


def route(
    *routes: Route, kind: bytes | None = b"order", key: bytes | None = b"k1", region: bytes | None = b"eu"
) -> Record | Unroutable:
    row = (b"e1", kind, key, b"Placed", b"{}", region, None)
    routed = make_plan(make_router(*routes)).route(row, TRANSACTION, 0, 7)
    assert isinstance(routed, Record | Unroutable), routed
    return routed


def topic_of(*routes: Route, kind: bytes | None = b"order", region: bytes | None = b"eu") -> str:
    routed = route(*routes, kind=kind, region=region)
    assert isinstance(routed, Record), routed
    return routed.topic


def code_of(routed: Record | Scheduled | Unroutable | Dropped) -> str:
    assert isinstance(routed, Unroutable), routed
    return routed.failure.code


# --- which route


def test_the_first_route_that_matches_wins() -> None:
    routes = (make_route("a", aggregatetype="user"), make_route("b", aggregatetype="order"), make_route("c"))
    assert [topic_of(*routes, kind=kind) for kind in (b"user", b"order", b"other", None)] == ["a", "b", "c", "c"]


def test_a_route_takes_a_row_only_if_every_column_has_its_value() -> None:
    routes = (make_route("both", aggregatetype="order", region="eu"), make_route("rest"))
    assert topic_of(*routes) == "both"
    assert topic_of(*routes, region=b"us") == "rest"
    assert topic_of(*routes, kind=b"user") == "rest"


@pytest.mark.parametrize("region", [b"EU", b"eu ", b"", None, b"e"])
def test_a_value_matches_exactly_or_not_at_all(region: bytes | None) -> None:
    assert topic_of(make_route("eu", region="eu"), make_route("rest"), region=region) == "rest"


def test_null_does_not_match_the_empty_string() -> None:
    routes = (make_route("empty", region=""), make_route("rest"))
    assert (topic_of(*routes, region=b""), topic_of(*routes, region=None)) == ("empty", "rest")


def test_a_topic_without_columns_takes_every_row() -> None:
    assert topic_of(make_route("orders.v1"), kind=None) == "orders.v1"


def test_a_template_may_have_several_columns() -> None:
    assert topic_of(make_route("{region}.{aggregatetype}.{region}")) == "eu.order.eu"


@given(st.lists(st.tuples(st.sampled_from([b"a", b"b", b"c", None]), st.sampled_from([b"a", b"b", None])), max_size=30))
def test_a_row_goes_where_it_would_go_without_a_cache(rows: list[tuple[bytes | None, bytes | None]]) -> None:
    routes = (make_route("x.{region}", aggregatetype="a"), make_route("y", region="b"), make_route("z.{aggregatetype}"))
    plan = make_plan(make_router(*routes))
    for kind, region in rows:
        assert plan.route((b"e1", kind, b"k1", b"Placed", b"{}", region, None), TRANSACTION, 0, 7) == route(
            *routes, kind=kind, region=region
        )


def test_no_route_names_the_values_that_decide_and_no_other() -> None:
    unroutable = route(make_route("a", aggregatetype="user", region="eu"), kind=b"sesame", region=None)
    assert isinstance(unroutable, Unroutable)
    failure = unroutable.failure
    assert failure.code == "no_route"
    assert failure.reason == "no route of public.outbox matches the row: it has aggregatetype='sesame', region=NULL"
    assert "routes" in failure.remedy
    assert (unroutable.key, unroutable.value, unroutable.policy.route) == (b"k1", b"{}", "")


# --- what it asks for


def test_a_record_carries_the_policy_of_its_route() -> None:
    routed = route(make_route("a", STRICT))
    assert isinstance(routed, Record)
    assert routed.policy is STRICT


def test_a_failure_inside_a_route_carries_its_policy() -> None:
    unroutable = route(make_route("{region}", STRICT), region=None)
    assert (code_of(unroutable), unroutable.policy) == ("null_in_topic", STRICT)


def test_a_null_key_on_a_strict_route_is_a_failure_with_a_remedy() -> None:
    unroutable = route(make_route("a", STRICT), key=None)
    assert isinstance(unroutable, Unroutable)
    assert unroutable.failure.code == "null_key"
    assert "aggregateid" in unroutable.failure.reason
    assert "relaxed" in unroutable.failure.remedy
    assert (unroutable.key, unroutable.value, unroutable.policy) == (None, b"{}", STRICT)


def test_an_empty_key_on_a_strict_route_is_a_key() -> None:
    assert isinstance(route(make_route("a", STRICT), key=b""), Record)


@pytest.mark.parametrize("column", ["region", "aggregatetype"])
def test_a_column_that_only_a_route_needs_must_be_there(column: str) -> None:
    router = make_router(make_route("{aggregatetype}", region="eu"))
    left = [name for name in COLUMNS if name != column]
    assert code_of(make_plan(router, *left).route((b"x",) * len(left), TRANSACTION, 0, 0)) == "missing_column"


def test_an_outbox_needs_the_columns_of_its_mapping_and_its_routes_each_once() -> None:
    routes = (make_route("{region}.{id}", kind="x"), make_route("{kind}"))
    outbox = replace(OUTBOX, routes=routes, tenant_column="tenant", schedule_column="due")
    assert outbox.columns == ("id", "aggregateid", "type", "payload", "tenant", "due", "kind", "region")


# --- schedules


def scheduled(due: bytes | None, *routes: Route, key: bytes | None = b"k1") -> Record | Scheduled | Unroutable:
    plan = make_plan(make_router(*routes or (make_route("a"),), schedule="due"))
    routed = plan.route((b"e1", b"order", key, b"Placed", b"{}", b"eu", due), TRANSACTION, 0, 7)
    assert not isinstance(routed, Dropped)
    return routed


@pytest.mark.parametrize("due", [b"2023-11-14 22:13:20.000001+00", b"2023-11-14 22:13:21", b"294276-12-31 23:59:59+00"])
def test_a_row_that_is_not_due_is_scheduled(due: bytes) -> None:
    routed = scheduled(due)
    assert isinstance(routed, Scheduled)
    assert routed.record == route(make_route("a"))
    assert routed.scheduled_at == due.decode().removesuffix("+00") + "+00"


@pytest.mark.parametrize("due", [None, b"2023-11-14 22:13:20+00", b"2023-11-14 22:13:20", b"0044-03-15 00:00:00+00 BC"])
def test_a_row_without_a_schedule_or_with_a_past_one_is_an_ordinary_record(due: bytes | None) -> None:
    assert scheduled(due) == route(make_route("a"))


@pytest.mark.parametrize("due", [b"soon", b"", b"infinity", b"-infinity", b"2023-02-30 00:00:00+00"])
def test_what_is_no_point_in_time_is_a_failure(due: bytes) -> None:
    unroutable = scheduled(due, make_route("a", STRICT))
    assert isinstance(unroutable, Unroutable)
    assert unroutable.failure.code == "bad_schedule"
    assert "due" in unroutable.failure.reason
    assert (unroutable.key, unroutable.value, unroutable.policy) == (b"k1", b"{}", STRICT)
    assert unroutable.columns[-1] == KeptColumn("due", 25, due)


def test_a_row_that_cannot_be_routed_is_not_scheduled() -> None:
    assert code_of(scheduled(b"2030-01-01 00:00:00+00", make_route("a", STRICT), key=None)) == "null_key"


def test_the_clock_is_read_only_for_rows_that_have_a_schedule() -> None:
    def no_clock() -> int:
        raise AssertionError("the clock was read")

    plan = make_plan(make_router(make_route("a"), schedule="due"), now_us=no_clock)
    assert isinstance(plan.route((b"e1", b"order", b"k1", b"Placed", b"{}", b"eu", None), TRANSACTION, 0, 7), Record)


def test_a_missing_schedule_column_is_a_failure() -> None:
    plan = make_plan(make_router(make_route("a"), schedule="due"), *COLUMNS[:-1])
    assert code_of(plan.route((b"x",) * 6, TRANSACTION, 0, 0)) == "missing_column"


# --- a parked row again


def kept(*routes: Route, kind: bytes | None = b"order", due: bytes | None = None) -> Columns:
    plan = make_plan(make_router(*routes, schedule="due"))
    unroutable = plan.route((b"e1", kind, b"k1", b"Placed", b"{}", b"eu", due), TRANSACTION, 0, 7)
    assert isinstance(unroutable, Unroutable), unroutable
    return unroutable.columns


def test_a_parked_row_is_routed_again_from_its_columns() -> None:
    columns = kept(make_route("a", aggregatetype="user"))
    repaired = make_router(make_route("a", aggregatetype="user"), make_route("rest", STRICT), schedule="due")
    assert repaired.route_columns("public.outbox", columns, TRANSACTION, 0) == route(make_route("rest", STRICT))


def test_a_parked_row_is_due_whatever_its_schedule_says() -> None:
    columns = kept(make_route("a"), due=b"soon")
    assert make_router(make_route("a"), schedule="due").route_columns(
        "public.outbox", columns, TRANSACTION, 0
    ) == route(make_route("a"))


def test_a_parked_row_that_still_has_no_route_is_the_same_failure() -> None:
    routes = (make_route("a", aggregatetype="user"),)
    columns = kept(*routes)
    again = make_router(*routes).route_columns("public.outbox", columns, TRANSACTION, 0)
    assert isinstance(again, Unroutable)
    assert (again.failure.code, again.columns) == ("no_route", columns)


@pytest.mark.parametrize(
    ("label", "columns", "code"),
    [
        ("public.gone", [KeptColumn("id", 25, b"e1")], "unknown_outbox"),
        ("public.outbox", [KeptColumn("id", 25, b"e1")], "missing_column"),
        ("public.outbox", [], "missing_column"),
        ("public.outbox", [KeptColumn(name, 17, b"\\xzz") for name in COLUMNS], "bad_bytea"),
    ],
)
def test_what_cannot_be_routed_again_says_why_and_what_to_do(label: str, columns: Columns, code: str) -> None:
    unroutable = make_router(make_route("a")).route_columns(label, columns, TRANSACTION, 0)
    assert isinstance(unroutable, Unroutable)
    assert (unroutable.failure.code, unroutable.columns) == (code, columns)
    assert unroutable.failure.remedy


def test_topics_that_no_row_decides_are_known_beforehand() -> None:
    router = make_router(make_route("a", kind="x"), make_route("b.{kind}"), make_route("c"), make_route("a"))
    assert router.fixed_topics == ("a", "c")
