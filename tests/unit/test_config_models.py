"""Defaults, and what Python code may rely on when it builds a configuration itself."""

from __future__ import annotations

import pytest
from pydantic import SecretStr, ValidationError

from cdc_relay import config
from cdc_relay.config import (
    ColumnsConfig,
    DeliveryConfig,
    HttpConfig,
    OutboxConfig,
    RelayConfig,
    SinkConfig,
    SourceConfig,
    TableName,
    WindowConfig,
)

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
        window=WindowConfig(records=20_000, bytes=32 * 1024 * 1024), drain_seconds=30.0, release_line_after_seconds=60.0
    )
    assert made.outboxes[0].table == TableName("public", "outbox")
    assert made.outboxes[0].columns == ColumnsConfig(id="id", key="aggregateid", type="type", payload="payload")
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
    ],
)
def test_what_is_out_of_range_or_unknown_is_refused(
    section: type[WindowConfig | DeliveryConfig], values: dict[str, object]
) -> None:
    with pytest.raises(ValidationError):
        section.model_validate(values)


def test_the_public_names_exist() -> None:
    assert sorted(config.__all__) == config.__all__
    assert all(hasattr(config, name) for name in config.__all__)
