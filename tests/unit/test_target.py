"""From the configuration to what the adapters take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from psycopg.conninfo import conninfo_to_dict

from cdc_relay.config import RelayConfig
from cdc_relay.model import Policy, Retry
from cdc_relay.routing.conditions import Exact
from cdc_relay.routing.fields import Field
from cdc_relay.routing.router import DEFAULT_ROUTE, Outbox
from cdc_relay.target import conninfo_of, parking_conninfo_of, policies_of, wanted_of

_SOURCE = {"dsn": "postgresql://relay@db/orders", "password": "s3cret", "slot": "s", "publication": "p"}


def make_config(*outboxes: Mapping[str, object], **sections: object) -> RelayConfig:
    sink = {"kafka": {"bootstrap.servers": "k:1"}}
    return RelayConfig.model_validate(
        {"source": _SOURCE, "sink": sink, "outboxes": list(outboxes) or [{"table": "outbox"}], **sections}
    )


def names(config: RelayConfig) -> list[list[str]]:
    return [[route.policy.route for route in outbox.routes] for outbox in wanted_of(config).outboxes]


# --- the lot's database


def test_the_lot_is_where_the_source_is_unless_it_has_a_place_of_its_own() -> None:
    config = make_config()
    lot, source = conninfo_to_dict(parking_conninfo_of(config)), conninfo_to_dict(conninfo_of(config))
    assert {name for name in lot | source if lot.get(name) != source.get(name)} == {"application_name"}
    assert lot["password"] == "s3cret"


def test_the_lot_s_own_place_has_its_own_password() -> None:
    found = conninfo_to_dict(
        parking_conninfo_of(make_config(parking={"dsn": "postgresql://lot@elsewhere/lot", "password": "t0p"}))
    )
    assert (found["host"], found["dbname"], found["user"], found["password"]) == ("elsewhere", "lot", "lot", "t0p")
    assert found["application_name"] == "cdc-relay:s:lot"


def test_the_source_s_password_is_not_sent_elsewhere() -> None:
    assert "s3cret" not in parking_conninfo_of(make_config(parking={"dsn": "postgresql://lot@elsewhere/lot"}))


# --- outboxes


def test_an_outbox_without_routes_has_the_default_one() -> None:
    [outbox] = wanted_of(make_config()).outboxes
    expected = Outbox("public", "outbox", "public.outbox", "id", "aggregateid", "type", "payload")
    assert replace(outbox, places=()) == expected
    assert outbox.routes == (DEFAULT_ROUTE,)


def test_an_outbox_knows_where_the_file_asks_for_its_columns() -> None:
    routes = [{"topic": "a.{region}", "key": "{region}-{shop}", "when": {"kind": "x"}}, {"topic": "b"}]
    [outbox] = wanted_of(make_config({"table": "outbox", "routes": routes})).outboxes
    places = dict(outbox.places)
    assert (places["id"], places["kind"]) == ("outboxes[0].columns.id", "outboxes[0].routes[0].when")
    assert (places["region"], places["shop"]) == ("outboxes[0].routes[0].topic", "outboxes[0].routes[0].key")


def test_the_default_route_has_delivery_s_policy() -> None:
    config = make_config(delivery={"ordering": "strict", "on_dead": "hold", "retry": {"preset": "aggressive"}})
    [outbox] = wanted_of(config).outboxes
    retry = Retry(1.0, 300.0, 0.2, 3)
    assert outbox.routes[0].policy == Policy(DEFAULT_ROUTE.policy.route, strict=True, hold_dead=True, retry=retry)
    assert outbox.unrouted == Policy("", retry=retry)


def test_columns_and_routes_are_those_of_the_file() -> None:
    mapped = {"correlation_id": "trace", "tenant": '"Tenant"', "scheduled_at": "due"}
    routes = [{"when": {"kind": "order"}, "topic": "orders.{region}"}]
    [outbox] = wanted_of(make_config({"table": "outbox", "columns": mapped, "routes": routes})).outboxes
    assert (outbox.correlation_column, outbox.tenant_column, outbox.schedule_column) == ("trace", "Tenant", "due")
    assert outbox.columns[4:] == ("trace", "Tenant", "due", "kind", "region")
    assert outbox.routes[0].when == ((Field("kind"), Exact(b"order")),)


# --- names of routes


def test_a_route_is_named_by_its_topic_and_numbered_where_that_is_not_enough() -> None:
    routes = [{"topic": "a", "when": {"x": "1"}}, {"topic": "a", "when": {"x": "2"}}, {"topic": "b"}, {"topic": "a"}]
    assert names(make_config({"table": "outbox", "routes": routes})) == [["a", "a (2)", "b", "a (3)"]]


def test_a_given_name_is_nobody_else_s() -> None:
    routes = [{"topic": "a", "when": {"x": "1"}}, {"topic": "b", "name": "a"}, {"topic": "c", "name": "a (2)"}]
    assert names(make_config({"table": "outbox", "routes": routes})) == [["a (3)", "a", "a (2)"]]


def test_outboxes_share_a_name_only_with_the_same_policy() -> None:
    strict = {"table": "c", "routes": [{"topic": "a", "ordering": "strict"}]}
    config = make_config({"table": "a", "routes": [{"topic": "a"}]}, {"table": "b", "routes": [{"topic": "a"}]}, strict)
    assert names(config) == [["a"], ["a"], ["a (2)"]]
    assert policies_of(config) == {"a": Policy("a"), "a (2)": Policy("a (2)", strict=True), "": Policy("")}
