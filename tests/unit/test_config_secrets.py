"""What is shown is what is in effect, without a single secret."""

from __future__ import annotations

import pytest
import yaml
from pydantic import SecretStr

from cdc_relay.config import ParkingConfig, RelayConfig, hide
from cdc_relay.config.secrets import is_secret

_SECRETS = {
    "sasl.password": "s3cret",
    "ssl.key.password": "s3cret",
    "ssl.key.pem": "s3cret",
    "ssl.keystore.password": "s3cret",
    "sasl.oauthbearer.client.secret": "s3cret",
    "sasl.jaas.config": "s3cret",
    "some.Token": "s3cret",
}


def _config(dsn: str, **source: str) -> RelayConfig:
    return RelayConfig.model_validate(
        {
            "source": {"dsn": dsn, "slot": "s", "publication": "p", **source},
            "sink": {"kafka": {"bootstrap.servers": "k:1", "client.id": "${x}", **_SECRETS}},
            "outboxes": [{"table": 'public."Order.Outbox"', "columns": {"key": '"aggregateId"'}}],
        }
    )


@pytest.mark.parametrize("dsn", ["postgresql://relay:s3cret@db/orders", "host=db user=relay password=s3cret"])
def test_no_secret_is_shown(dsn: str) -> None:
    shown = hide(_config(dsn))
    assert "s3cret" not in yaml.safe_dump(shown)
    assert "***" in shown["source"]["dsn"]
    assert {shown["sink"]["kafka"][name] for name in _SECRETS} == {"***"}


def test_the_password_beside_the_dsn_is_not_shown() -> None:
    shown = hide(_config("postgresql://relay@db/orders", password="s3cret"))
    assert shown["source"]["password"] == "***"
    assert shown["source"]["dsn"] == "postgresql://relay@db/orders"
    assert "s3cret" not in str(shown)


def test_the_lot_s_own_secrets_are_not_shown() -> None:
    source = _config("postgresql://relay@db/orders")
    inside = source.model_copy(update={"parking": ParkingConfig(dsn="postgresql://lot:s3cret@db/lot")})
    beside = source.model_copy(
        update={"parking": ParkingConfig(dsn="postgresql://lot@db/lot", password=SecretStr("s3cret"))}
    )
    assert hide(inside)["parking"]["dsn"] == "postgresql://lot:***@db/lot"
    assert hide(beside)["parking"]["password"] == "***"
    assert "s3cret" not in str([hide(inside), hide(beside), inside, beside])


def test_everything_else_is_shown_in_the_spelling_of_the_file() -> None:
    shown = hide(_config("postgresql://relay@db/orders"))
    assert "password" not in shown["source"]
    assert shown["source"]["wal_sender_timeout"] == "10s"
    assert shown["sink"]["kafka"]["client.id"] == "$${x}"
    assert shown["outboxes"] == [
        {
            "table": 'public."Order.Outbox"',
            "columns": {"id": "id", "key": '"aggregateId"', "type": "type", "payload": "payload"},
            "routes": [
                {
                    "when": {},
                    "drop": False,
                    "topic": "outbox.event.{aggregatetype}",
                    "headers": {},
                    "envelope": "debezium",
                    "retry": {},
                }
            ],
        }
    ]
    assert shown["delivery"] == {
        "window": {"records": 20000, "bytes": "8MiB"},
        "retry": {"preset": "standard"},
        "ordering": "relaxed",
        "on_dead": "continue",
        "partial_outage_after": "30s",
        "drain": "30s",
        "release_line_after": "60s",
    }
    assert shown["parking"] == {"limit": {"records": 100000, "bytes": "1GiB"}}
    assert shown["http"] == {"listen": "127.0.0.1:9464"}


@pytest.mark.parametrize("name", ["bootstrap.servers", "sasl.username", "security.protocol", "ssl.key.location"])
def test_what_is_no_secret_is_shown(name: str) -> None:
    assert not is_secret(name)
