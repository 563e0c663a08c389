"""From the user's DSN to libpq parameters: everything it says stays, and our own needs are added."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.conninfo import conninfo_to_dict

from cdc_relay.errors import ConfigError
from cdc_relay.sources.conninfo import catalog_conninfo, replication_conninfo

SECRET = "s3same/4711"
MAKERS = (replication_conninfo, catalog_conninfo)


def replication(dsn: str, password: str | None = None, silence_seconds: float = 5.0) -> dict[str, object]:
    return dict(
        conninfo_to_dict(replication_conninfo(dsn, password=password, slot="orders", silence_seconds=silence_seconds))
    )


def catalog(dsn: str, password: str | None = None) -> dict[str, object]:
    return dict(conninfo_to_dict(catalog_conninfo(dsn, password=password, slot="orders", silence_seconds=5.0)))


@pytest.mark.parametrize(
    ("dsn", "said"),
    [
        ("postgresql://relay@db/shop?sslmode=verify-full&sslrootcert=/ca.pem", {"sslmode": "verify-full"}),
        ("postgresql://relay@db/shop?sslmode=verify-full&sslrootcert=/ca.pem", {"sslrootcert": "/ca.pem"}),
        ("host=db sslmode=require sslcert=/c.pem sslkey=/k.pem", {"sslcert": "/c.pem", "sslkey": "/k.pem"}),
        ("postgresql://relay@a:5432,b:5433/shop", {"host": "a,b", "port": "5432,5433"}),
        ("host=a,b target_session_attrs=read-write", {"target_session_attrs": "read-write"}),
        ("postgresql://a,b/shop?load_balance_hosts=random", {"load_balance_hosts": "random"}),
        ("service=shop", {"service": "shop"}),
        ("service=shop user=relay", {"service": "shop", "user": "relay"}),
        ("host=db passfile=/run/pass", {"passfile": "/run/pass"}),
        ("host=db channel_binding=require", {"channel_binding": "require"}),
        ("host=db gssencmode=disable", {"gssencmode": "disable"}),
        ("host=db hostaddr=10.0.0.1", {"host": "db", "hostaddr": "10.0.0.1"}),
        ("host=/var/run/postgresql dbname=shop", {"host": "/var/run/postgresql", "dbname": "shop"}),
        ("postgresql://%2Fvar%2Frun/shop", {"host": "/var/run"}),
        ("host=db user='o\\' brien'", {"user": "o' brien"}),
        ("postgresql://us%40er:p%2Fw@db/sh%20op", {"user": "us@er", "password": "p/w", "dbname": "sh op"}),
        ("postgresql://[::1]:5432/shop", {"host": "::1", "port": "5432"}),
        ("", {}),
    ],
)
def test_whatever_a_dsn_says_stays(dsn: str, said: dict[str, str]) -> None:
    assert replication(dsn).items() >= said.items()
    assert catalog(dsn).items() >= said.items()


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=30))
def test_any_user_and_password_come_through_unharmed(text: str) -> None:
    quoted = text.replace("\\", "\\\\").replace("'", "\\'")
    params = replication(f"host=db user='{quoted}'", password=text)
    assert (params["user"], params["password"]) == (text, text)


def test_our_names_are_ours_whatever_the_dsn_says() -> None:
    dsn = "host=db application_name=mine fallback_application_name=theirs"
    assert replication(dsn)["application_name"] == "cdc-relay:orders"
    assert catalog(dsn)["application_name"] == "cdc-relay:orders:catalog"


def test_only_the_replication_line_replicates() -> None:
    assert replication("host=db")["replication"] == "database"
    assert catalog("host=db").get("replication", "false") == "false"


@pytest.mark.parametrize("mode", ["true", "database", "1"])
def test_a_dsn_that_was_made_for_replication_serves_both(mode: str) -> None:
    assert replication(f"host=db replication={mode}")["replication"] == "database"
    assert catalog(f"host=db replication={mode}").get("replication", "false") == "false"


def test_the_separate_password_is_used() -> None:
    assert replication("host=db", password=SECRET)["password"] == SECRET
    assert catalog("host=db", password=SECRET)["password"] == SECRET


def test_without_a_separate_password_the_dsn_s_own_stays() -> None:
    assert replication("host=db password=own")["password"] == "own"
    assert "password" not in replication("host=db")  # so that PGPASSWORD and the passfile are asked


def test_options_are_the_dsn_s() -> None:
    assert replication("host=db options='-c work_mem=64MB'")["options"] == "-c work_mem=64MB"
    assert catalog("host=db options='-c work_mem=64MB'")["options"] == "-c work_mem=64MB"


def test_options_of_the_environment_or_a_service_are_not_silenced() -> None:
    """An empty `options=` would win over PGOPTIONS and over the service file."""
    assert "options" not in replication("service=shop")
    assert "options" not in catalog("service=shop")


def test_both_lines_speak_utf8_whatever_the_dsn_prefers() -> None:
    assert replication("host=db client_encoding=LATIN1")["client_encoding"] == "UTF8"
    assert catalog("host=db client_encoding=LATIN1")["client_encoding"] == "UTF8"


@pytest.mark.parametrize("slot", ["orders", "s" * 53, "s" * 63])
def test_our_names_are_no_longer_than_postgres_keeps_and_tell_the_two_lines_apart(slot: str) -> None:
    made = [make("host=db", password=None, slot=slot, silence_seconds=5.0) for make in MAKERS]
    ours, catalogs = (str(conninfo_to_dict(each)["application_name"]) for each in made)
    assert ours == f"cdc-relay:{slot}"[:63]
    assert catalogs != ours
    assert len(catalogs) <= 63


# --- a line that dies is noticed


def test_the_limit_of_a_connection_attempt_is_left_to_service_and_environment() -> None:
    """Line.open has the default: here it would win over PGCONNECT_TIMEOUT and over the service file."""
    assert "connect_timeout" not in replication("host=db")
    assert "connect_timeout" not in catalog("host=db")


def test_a_service_says_for_itself_how_its_line_is_kept_alive() -> None:
    assert not [name for name in replication("service=shop") if "keepalives" in name or "timeout" in name]


def test_a_dead_host_is_noticed_by_keepalives() -> None:
    params = replication("host=db", silence_seconds=5.0)
    assert params["keepalives"] == "1"
    idle, interval, count = (int(str(params[f"keepalives_{name}"])) for name in ("idle", "interval", "count"))
    assert idle + interval * count <= 15


def test_unacknowledged_data_is_given_up_with_the_line() -> None:
    assert replication("host=db", silence_seconds=2.5)["tcp_user_timeout"] == "2500"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("connect_timeout", "3"),
        ("keepalives", "0"),
        ("keepalives_idle", "60"),
        ("keepalives_interval", "9"),
        ("keepalives_count", "9"),
        ("tcp_user_timeout", "0"),
    ],
)
def test_the_dsn_wins_over_our_defaults(name: str, value: str) -> None:
    assert replication(f"host=db {name}={value}")[name] == value
    assert catalog(f"host=db {name}={value}")[name] == value


# --- what cannot be read


@pytest.mark.parametrize(
    "dsn",
    [
        f"postgresql://relay:{SECRET[:6]}@[::1/shop?password={SECRET}",
        f"host=db password={SECRET} nonsense",
        f"host=db pasword={SECRET}",
        f"postgresql://relay:{SECRET}%zz@db/shop",
        f"postgresql://relay@db/shop?password={SECRET}&sslmod=require",
        f"password='{SECRET}",
    ],
)
def test_a_dsn_that_cannot_be_read_is_refused_without_its_password(dsn: str) -> None:
    for make in MAKERS:
        with pytest.raises(ConfigError) as raised:
            make(dsn, password=None, slot="orders", silence_seconds=5.0)
        assert "source.dsn" in str(raised.value)
        assert SECRET not in str(raised.value)
        assert raised.value.__suppress_context__  # a traceback would show libpq's own text, which quotes the DSN
        assert raised.value.__cause__ is None
