"""A connection string is well-formed or refused, and its password is never shown."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from cdc_relay.config.dsn import check_dsn, has_password, hide_dsn

_PASSWORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).map(lambda text: f"p4ss{text}w0rd")


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://relay@db/orders",
        "postgres://relay:secret@db1:5432,db2:5433/orders?target_session_attrs=read-write&sslmode=verify-full",
        "postgresql://[::1]:5432/orders",
        "postgresql:///orders?host=/var/run/postgresql",
        "host=db dbname=orders user=relay password='a b'",
        "service=orders",
    ],
)
def test_everything_that_libpq_takes_is_accepted(dsn: str) -> None:
    assert check_dsn(dsn) == dsn


@pytest.mark.parametrize(
    "dsn",
    [
        "",
        "orders",
        "mysql://db/orders",
        "host=db hots=other",
        "postgresql://relay:s3cret@x@db/orders",
        "postgresql://relay:s3c/ret@db/orders",
        "postgresql://relay:12/s3cret@db/orders",
        "postgresql://relay:s3?cret@db/orders",
        "postgresql://db?password=s3cret@x",
        "postgresql://relay:s3cret%zz@db/orders",
    ],
)
def test_a_malformed_string_is_refused_without_being_quoted(dsn: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        check_dsn(dsn)
    assert "s3c" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@given(_PASSWORDS)
def test_a_password_in_a_url_is_hidden_and_the_rest_is_kept(password: str) -> None:
    secret = quote(password, safe="")
    dsn = check_dsn(f"postgresql://relay:{secret}@db:5432/orders?sslpassword={secret}&sslmode=require")
    assert hide_dsn(dsn) == "postgresql://relay:***@db:5432/orders?sslpassword=***&sslmode=require"


@given(_PASSWORDS)
def test_a_password_in_pairs_is_hidden_and_the_rest_is_kept(password: str) -> None:
    dsn = check_dsn(make_conninfo("", host="db", user="relay", password=password))
    assert conninfo_to_dict(hide_dsn(dsn)) == {"host": "db", "user": "relay", "password": "***"}


@pytest.mark.parametrize(
    ("dsn", "shown"),
    [
        ("postgresql://relay@db/orders", "postgresql://relay@db/orders"),
        ("postgresql://db?user=relay&password=s3/c", "postgresql://db?user=relay&password=***"),
        ("postgresql:///orders?pass%77ord=s3c", "postgresql:///orders?pass%77ord=***"),
        ("postgresql://db/orders?application_name=a@b", "postgresql://db/orders?application_name=a@b"),
        ("postgresql://relay:@db/orders", "postgresql://relay:***@db/orders"),
    ],
)
def test_a_url_keeps_its_form(dsn: str, shown: str) -> None:
    assert hide_dsn(check_dsn(dsn)) == shown


def test_a_password_is_found_in_both_forms() -> None:
    assert has_password("postgresql://u:p@db/x")
    assert has_password("host=db password=p")
    assert not has_password("postgresql://u@db/x")
