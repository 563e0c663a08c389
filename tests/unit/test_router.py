"""From a row to the record that the consumer expects, by Debezium's default route. Other routes: test_routes.py."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdc_relay.model import KeptColumn, Record, Unroutable
from cdc_relay.routing.router import DEFAULT_ROUTE, Outbox, Router
from tests.unit.router_rig import BYTEA, COLUMNS, OUTBOX, TEXT, TRANSACTION, failed, make_plan, relation, route, routed

# --- the default route


def test_the_default_route_is_debezium_s() -> None:
    assert routed(b"e1", b"order", b"k1", b"Placed", b'{"n": 1.10}') == Record(
        topic="outbox.event.order",
        key=b"k1",
        value=b'{"n": 1.10}',
        headers=[("id", b"e1")],
        timestamp_ms=1_700_000_000_000,
        size_bytes=2 + 2 + 2 + 11,
        policy=DEFAULT_ROUTE.policy,
    )


@given(st.binary(), st.binary() | st.none(), st.binary() | st.none(), st.binary() | st.none())
def test_bytes_pass_as_they_are_and_are_counted_once(
    event_id: bytes, key: bytes | None, kind: bytes | None, payload: bytes | None
) -> None:
    record = routed(event_id, b"order", key, kind, payload)
    assert (record.key, record.value, record.headers) == (key, payload, [("id", event_id)])
    assert record.size_bytes == len("id") + len(event_id) + len(key or b"") + len(payload or b"")


def test_the_place_of_a_column_is_the_relation_s_affair() -> None:
    plan = make_plan(relation("note", "payload", "type", "aggregateid", "aggregatetype", "id"))
    record = plan.route((b"n", b"{}", b"Placed", b"k1", b"order", b"e1"), TRANSACTION, 0, 0)
    assert isinstance(record, Record)
    assert record[:4] == ("outbox.event.order", b"k1", b"{}", [("id", b"e1")])


def test_columns_are_mapped_by_the_configuration() -> None:
    outbox = Outbox("public", "outbox", "public.outbox", "event_id", "customer", "kind", "body")
    plan = make_plan(relation("event_id", "aggregatetype", "customer", "kind", "body"), outbox)
    record = plan.route((b"e1", b"order", b"c1", b"Placed", b"{}"), TRANSACTION, 0, 0)
    assert isinstance(record, Record)
    assert (record.key, record.value, record.headers) == (b"c1", b"{}", [("id", b"e1")])


def test_one_column_may_play_two_parts() -> None:
    outbox = Outbox("public", "outbox", "public.outbox", "id", "aggregatetype", "aggregatetype", "payload")
    assert outbox.columns == ("id", "aggregatetype", "payload")
    record = make_plan(relation("id", "aggregatetype", "payload"), outbox).route(
        (b"e1", b"order", b"{}"), TRANSACTION, 0, 0
    )
    assert isinstance(record, Record)
    assert (record.topic, record.key) == ("outbox.event.order", b"order")


# --- NULL


def test_a_null_key_is_a_null_key() -> None:
    assert routed(b"e1", b"order", None, b"Placed", b"{}").key is None


def test_a_null_payload_is_a_null_value() -> None:
    assert routed(b"e1", b"order", b"k1", b"Placed", None).value is None


def test_an_empty_payload_is_not_null() -> None:
    assert routed(b"e1", b"order", b"k1", b"Placed", b"").value == b""


def test_a_null_id_is_a_header_without_a_value() -> None:
    assert routed(None, b"order", b"k1", b"Placed", b"{}").headers == [("id", None)]


def test_null_in_the_topic_is_a_failure_that_names_the_column() -> None:
    failure = failed(b"e1", None, b"k1", b"Placed", b"{}")
    assert failure.code == "null_in_topic"
    assert "aggregatetype" in failure.reason
    assert "aggregatetype" in failure.remedy


# --- bytea


@given(st.binary())
def test_a_bytea_payload_passes_as_its_bytes(payload: bytes) -> None:
    printed = b"\\x" + payload.hex().encode()
    record = routed(b"e1", b"order", b"k1", b"Placed", printed, payload=BYTEA)
    assert record.value == payload
    assert record.size_bytes == 2 + 2 + 2 + len(payload)


def test_a_null_bytea_payload_is_a_null_value() -> None:
    assert routed(b"e1", b"order", b"k1", b"Placed", None, payload=BYTEA).value is None


def test_a_text_payload_that_looks_like_bytea_stays_text() -> None:
    assert routed(b"e1", b"order", b"k1", b"Placed", b"\\x00", payload=TEXT).value == b"\\x00"


def test_a_bytea_that_was_kept_wrong_is_a_failure() -> None:
    unroutable = route(b"e1", b"order", b"k1", b"Placed", b"\\x0", payload=BYTEA)
    assert isinstance(unroutable, Unroutable)
    assert (unroutable.failure.code, unroutable.value) == ("bad_bytea", b"\\x0")


# --- what is kept of a row that could not be routed


def test_an_unroutable_row_is_kept_whole_with_key_and_value() -> None:
    unroutable = route(b"e1", None, b"k1", b"Placed", b"\\x00ff", payload=BYTEA)
    assert isinstance(unroutable, Unroutable)
    assert unroutable.columns == [
        KeptColumn("id", TEXT, b"e1"),
        KeptColumn("aggregatetype", TEXT, None),
        KeptColumn("aggregateid", TEXT, b"k1"),
        KeptColumn("type", TEXT, b"Placed"),
        KeptColumn("payload", BYTEA, b"\\x00ff"),
    ]
    assert (unroutable.key, unroutable.value, unroutable.policy) == (b"k1", b"\x00\xff", DEFAULT_ROUTE.policy)


def test_key_and_value_are_kept_as_far_as_the_columns_are_there() -> None:
    unroutable = make_plan(relation("id", "payload")).route((b"e1", b"{}"), TRANSACTION, 0, 0)
    assert isinstance(unroutable, Unroutable)
    assert (unroutable.key, unroutable.value, unroutable.policy.route) == (None, b"{}", "")


# --- missing columns


@pytest.mark.parametrize("column", COLUMNS)
def test_a_missing_column_is_a_failure_that_names_table_and_column(column: str) -> None:
    left = tuple(name for name in COLUMNS if name != column)
    unroutable = make_plan(relation(*left)).route((b"e1",) * 4, TRANSACTION, 0, 0)
    assert isinstance(unroutable, Unroutable)
    failure = unroutable.failure
    assert failure.code == "missing_column"
    assert f"public.outbox has no column {column}" in failure.reason
    assert "outboxes[].columns" in failure.remedy


def test_all_missing_columns_are_named_at_once() -> None:
    unroutable = make_plan(relation("id", "note")).route((b"e1", b"n"), TRANSACTION, 0, 0)
    assert isinstance(unroutable, Unroutable)
    for column in COLUMNS[1:]:
        assert column in unroutable.failure.reason


def test_a_row_is_named_by_its_id_even_if_it_cannot_be_routed() -> None:
    plan = make_plan(relation("note", "id"))
    assert plan.event((b"n", b"e1")) == (b"e1", None)


def test_a_row_without_an_id_column_has_no_name() -> None:
    plan = make_plan(relation("note", "payload"))
    assert plan.event((b"n", b"{}")) == (None, None)


# --- the facts of an event


def test_a_row_s_facts_are_in_the_order_of_the_origin() -> None:
    outbox = replace(OUTBOX, correlation_column="trace", tenant_column="customer")
    plan = make_plan(relation("customer", "payload", "type", "aggregateid", "aggregatetype", "id", "trace"), outbox)
    assert (plan.origin.label, plan.origin.event_fields) == (
        "public.outbox",
        ("id", "type", "correlation_id", "tenant"),
    )
    assert plan.event((b"c1", b"{}", b"Placed", b"k1", b"order", b"e1", None)) == (b"e1", b"Placed", None, b"c1")


def test_what_is_not_mapped_is_no_fact() -> None:
    plan = make_plan(relation(), replace(OUTBOX, tenant_column="aggregatetype"))
    assert plan.origin.event_fields == ("id", "type", "tenant")
    assert plan.event((b"e1", b"order", b"k1", b"Placed", b"{}")) == (b"e1", b"Placed", b"order")


# --- several outboxes


def test_each_relation_finds_its_own_outbox() -> None:
    orders = Outbox("sales", "outbox", "sales.outbox", "id", "order_id", "type", "payload")
    hostile = Outbox("public", 'Order."Outbox', 'public."Order.""Outbox"', "id", "aggregateid", "type", "payload")
    router = Router([OUTBOX, orders, hostile])
    found = [
        router.plan(relation(schema=schema, name=name), now_us=lambda: 0)
        for schema, name in [("public", "outbox"), ("sales", "outbox"), ("public", 'Order."Outbox')]
    ]
    assert [plan.outbox for plan in found if plan] == [OUTBOX, orders, hostile]


@pytest.mark.parametrize(
    ("schema", "name"),
    [("public", "orders"), ("Public", "outbox"), ("public", "OUTBOX"), ("", "outbox"), ("cdc_relay", "outbox")],
)
def test_a_relation_that_is_no_outbox_has_no_plan(schema: str, name: str) -> None:
    assert Router([OUTBOX]).plan(relation(schema=schema, name=name), now_us=lambda: 0) is None


def test_a_plan_knows_how_many_columns_its_rows_have() -> None:
    assert make_plan(relation()).column_count == 5


def test_a_relation_described_again_is_planned_again() -> None:
    router = Router([OUTBOX])
    before, after = router.plan(relation(*COLUMNS[:4]), now_us=lambda: 0), router.plan(relation(), now_us=lambda: 0)
    assert before is not None
    assert after is not None
    assert isinstance(before.route((b"e1", b"order", b"k", b"t"), TRANSACTION, 0, 0), Unroutable)
    assert isinstance(after.route((b"e1", b"order", b"k", b"t", b"{}"), TRANSACTION, 0, 0), Record)
