"""Defaults, and what Python code may rely on when it builds a configuration itself."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from pydantic import BaseModel, SecretStr, ValidationError

from cdc_relay import config
from cdc_relay.config import (
    ColumnsConfig,
    DeliveryConfig,
    HttpConfig,
    LimitConfig,
    OutboxConfig,
    ParkingConfig,
    RelayConfig,
    RetryConfig,
    RouteConfig,
    SinkConfig,
    SourceConfig,
    TableName,
    WindowConfig,
    policy_of,
    retry_of,
)
from cdc_relay.model import Policy, Retry
from cdc_relay.routing.conditions import Exact
from cdc_relay.routing.fields import Field

_DSN = "postgresql://relay:s3cret@db/orders"


def _source(**values: object) -> SourceConfig:
    return SourceConfig.model_validate({"dsn": _DSN, "slot": "s", "publication": "p"} | values)


def _config(*tables: str) -> RelayConfig:
    outboxes = tuple(OutboxConfig.model_validate({"table": table}) for table in tables)
    return RelayConfig(source=_source(), sink=SinkConfig(kafka={"bootstrap.servers": "k:1"}), outboxes=outboxes)


def test_the_defaults_are_those_of_the_documentation() -> None:
    made = _config("outbox")
    assert made.source.wal_sender_timeout_seconds == 10
    assert made.delivery == DeliveryConfig(
        window=WindowConfig(records=20_000, bytes=8 * 1024 * 1024), drain_seconds=30.0, release_line_after_seconds=60.0
    )
    assert made.outboxes[0].table == TableName("public", "outbox")
    assert made.outboxes[0].columns == ColumnsConfig(id="id", key="aggregateid", type="type", payload="payload")
    assert made.outboxes[0].columns.scheduled_at is None
    assert made.delivery.partial_outage_after_seconds == 30
    assert retry_of(made.delivery) == Retry(base_seconds=5, max_seconds=1800, jitter=0.1, max_retries=5)
    assert (made.delivery.ordering, made.delivery.on_dead) == ("relaxed", "continue")
    assert (made.parking.dsn, made.parking.dead_letter_topic) == (None, None)
    assert (made.parking.limit.records, made.parking.limit.bytes) == (100_000, 1 << 30)
    assert made.http.address == ("127.0.0.1", 9464)


def test_a_configuration_is_frozen() -> None:
    with pytest.raises(ValidationError):
        _config("outbox").delivery.drain_seconds = 1.0


def test_no_representation_and_no_error_shows_a_secret() -> None:
    with pytest.raises(ValidationError) as caught:
        _source(password="t0psecret", slot="NO")
    source = _source(dsn="postgresql://relay@db/orders", password="t0psecret")
    assert source.password == SecretStr("t0psecret")
    kafka = SinkConfig(kafka={"bootstrap.servers": "k:1", "sasl.password": "s3cret"})
    for text in (repr(source), repr(_config("outbox")), repr(kafka), str(caught.value)):
        assert "s3cret" not in text
        assert "t0psecret" not in text


@pytest.mark.parametrize("slot", ["", "Orders", "a-b", "a" * 64, "a b", "a\n", "ä"])
def test_a_slot_name_that_postgres_refuses_is_refused(slot: str) -> None:
    with pytest.raises(ValidationError):
        _source(slot=slot)


def test_names_of_publication_and_columns_are_sql_identifiers() -> None:
    assert _source(publication='"My Pub"').publication == "My Pub"
    assert _source(publication="MyPub").publication == "mypub"
    assert ColumnsConfig(key='"aggregateId"').key == "aggregateId"
    with pytest.raises(ValidationError):
        _source(publication="p" * 64)


def test_two_passwords_are_refused() -> None:
    with pytest.raises(ValidationError, match="remove one of the two"):
        _source(password="other")


def test_a_table_twice_is_refused_however_it_is_spelled() -> None:
    with pytest.raises(ValidationError, match=r"same table as outboxes\[0\]"):
        _config("public.outbox", "events", '"outbox"')
    with pytest.raises(ValidationError, match="at least one"):
        _config()


@pytest.mark.parametrize(
    ("listen", "address"),
    [("0.0.0.0:80", ("0.0.0.0", 80)), ("[::1]:0", ("::1", 0)), ("relay-1.local:9464", ("relay-1.local", 9464))],
)
def test_http_listens_where_it_is_told(listen: str, address: tuple[str, int]) -> None:
    assert HttpConfig(listen=listen).address == address


@pytest.mark.parametrize("listen", [False, "off"])
def test_http_can_be_turned_off(listen: object) -> None:
    assert HttpConfig.model_validate({"listen": listen}).address is None


@pytest.mark.parametrize("listen", [True, "", "9464", ":9464", "localhost", "a:65536", "::1:80", "a:b", "a b:1", None])
def test_what_is_no_address_is_refused(listen: object) -> None:
    with pytest.raises(ValidationError):
        HttpConfig.model_validate({"listen": listen})


@pytest.mark.parametrize(
    ("section", "values"),
    [
        (WindowConfig, {"records": 0}),
        (WindowConfig, {"records": True}),
        (WindowConfig, {"bytes": 0}),
        (WindowConfig, {"bytes": "65GiB"}),
        (DeliveryConfig, {"drain": "2h"}),
        (DeliveryConfig, {"drain": float("nan")}),
        (DeliveryConfig, {"release_line_after": "0s"}),
        (DeliveryConfig, {"surprise": "1"}),
        (DeliveryConfig, {"partial_outage_after": "0s"}),
        (DeliveryConfig, {"ordering": "loose"}),
        (DeliveryConfig, {"ordering": None}),
        (DeliveryConfig, {"on_dead": "stop", "ordering": "strict"}),
        (DeliveryConfig, {"on_dead": "hold"}),
        (RetryConfig, {"preset": "gentle"}),
        (RetryConfig, {"base": "0s"}),
        (RetryConfig, {"base": "5"}),
        (RetryConfig, {"max": "169h"}),
        (RetryConfig, {"jitter": "1.1"}),
        (RetryConfig, {"jitter": "-0.1"}),
        (RetryConfig, {"jitter": True}),
        (RetryConfig, {"jitter": float("nan")}),
        (RetryConfig, {"max_retries": "1001"}),
        (LimitConfig, {"records": 0}),
        (LimitConfig, {"bytes": 0}),
        (ParkingConfig, {"dead_letter_topic": "a b"}),
        (ParkingConfig, {"dead_letter_topic": ".."}),
        (ParkingConfig, {"dead_letter_topic": "a" * 250}),
        (ParkingConfig, {"dead_letter_topic": "{kind}"}),
        (ParkingConfig, {"dsn": "nonsense"}),
        (ParkingConfig, {"password": "p"}),
        (ParkingConfig, {"dsn": "postgresql://u:p@db/lot", "password": "p"}),
        (RouteConfig, {"topic": "a", "name": ""}),
        (RouteConfig, {"topic": "a", "when": ["x"]}),
        (RouteConfig, {"topic": "a", "when": {"a b": "x"}}),
        (RouteConfig, {"topic": "a", "when": {"a": True}}),
        (RouteConfig, {"topic": "a", "when": {"a": "x", "A": "y"}}),
    ],
)
def test_what_is_out_of_range_or_unknown_is_refused(section: type[BaseModel], values: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        section.model_validate(values)


# --- routes


@pytest.mark.parametrize(
    "topic", ["", ".", "..", "a b", "a/b", "a" * 250, "{", "a{}", "ä.{kind}", "{payload.}", "{a b}"]
)
def test_a_topic_that_no_row_could_make_legal_is_refused(topic: str) -> None:
    with pytest.raises(ValidationError):
        RouteConfig.model_validate({"topic": topic})


@pytest.mark.parametrize("topic", ["orders.v1", "{kind}", ".{kind}", "a.{kind}_{region}-b", '{"Kind"}'])
def test_a_topic_is_shown_as_it_was_written(topic: str) -> None:
    assert RouteConfig.model_validate({"topic": topic}).model_dump(by_alias=True)["topic"] == topic


def test_columns_of_routes_are_sql_identifiers() -> None:
    route = RouteConfig.model_validate({"topic": '{Kind}.{"Kind"}', "when": {"Kind": "", '"Region"': "7"}})
    assert route.topic is not None
    assert route.topic.columns == ("kind", "Kind")
    assert route.when == {Field("kind"): Exact(b""), Field("Region"): Exact(b"7")}
    assert route.model_dump(by_alias=True)["when"] == {"kind": "", '"Region"': "7"}


def _policy(route: Mapping[str, object], delivery: Mapping[str, object]) -> Policy:
    made = RelayConfig.model_validate(
        {
            "source": {"dsn": _DSN, "slot": "s", "publication": "p"},
            "sink": {"kafka": {"bootstrap.servers": "k:1"}},
            "outboxes": [{"table": "outbox", "routes": [{"topic": "a", **route}]}],
            "delivery": delivery,
        }
    )
    return policy_of(made.outboxes[0].routes[0], made.delivery, name="a")


def test_a_route_has_what_delivery_says() -> None:
    delivery = {"ordering": "strict", "on_dead": "hold", "retry": {"preset": "aggressive", "base": "2s"}}
    assert _policy({}, delivery) == Policy("a", strict=True, hold_dead=True, retry=Retry(2.0, 300.0, 0.2, 3))


def test_a_route_s_own_values_win_one_by_one() -> None:
    delivery = {"ordering": "strict", "on_dead": "hold", "retry": {"base": "2s", "max_retries": "9"}}
    own = {"on_dead": "continue", "retry": {"max": "1m", "jitter": "0"}}
    assert _policy(own, delivery) == Policy("a", strict=True, hold_dead=False, retry=Retry(2.0, 60.0, 0.0, 9))


def test_a_route_s_preset_starts_anew() -> None:
    delivery = {"retry": {"base": "2s", "max_retries": "9"}}
    assert _policy({"retry": {"preset": "aggressive"}}, delivery).retry == Retry(1.0, 300.0, 0.2, 3)


def test_a_relaxed_route_holds_nothing() -> None:
    policy = _policy({"ordering": "relaxed"}, {"ordering": "strict", "on_dead": "hold"})
    assert (policy.strict, policy.hold_dead) == (False, False)


def test_a_strict_route_may_hold_where_delivery_is_relaxed() -> None:
    policy = _policy({"ordering": "strict", "on_dead": "hold"}, {})
    assert (policy.strict, policy.hold_dead) == (True, True)


@pytest.mark.parametrize(
    ("route", "delivery"),
    [
        ({"on_dead": "hold"}, {}),
        ({"on_dead": "hold", "ordering": "relaxed"}, {"ordering": "strict"}),
        ({"retry": {"max": "1s"}}, {}),
        ({"retry": {"base": "6m"}}, {"retry": {"preset": "aggressive"}}),
        ({}, {"retry": {"base": "1h"}}),
    ],
)
def test_what_cannot_hold_together_is_refused(route: dict[str, object], delivery: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        _policy(route, delivery)


def test_the_public_names_exist() -> None:
    assert sorted(config.__all__) == config.__all__
    assert all(hasattr(config, name) for name in config.__all__)
