"""What an operator is told to do about a connection to Postgres that failed over a certificate."""

from __future__ import annotations

import pytest

from cdc_relay.sources.failed_connection import away_remedy, connect_remedy

OURS = "renew the client certificate: sslcert and sslkey of parking.dsn; the server's ssl_ca_file must trust it"
THEIRS = "check sslmode, sslrootcert and the host name of parking.dsn against the server's certificate"


@pytest.mark.parametrize(
    ("message", "remedy"),
    [
        ("SSL error: sslv3 alert certificate expired", OURS),
        ("SSL error: ssl/tls alert bad certificate", OURS),
        ("SSL error: tlsv1 alert unknown ca", OURS),
        ("SSL error: certificate verify failed: certificate has expired", THEIRS),
        ('server certificate for "a" does not match host name "b"', THEIRS),
        ("Connection refused", "check host, port and network of parking.dsn"),
    ],
)
def test_whose_certificate_it_is(message: str, remedy: str) -> None:
    assert away_remedy(message, "parking.dsn") == remedy


def test_a_certificate_that_is_missing_is_asked_for() -> None:
    said = connect_remedy("FATAL:  connection requires a valid client certificate", "source.dsn")
    assert said.startswith("set sslcert and sslkey of source.dsn: ")


def test_a_refused_password_may_be_a_certificate_for_another_role() -> None:
    message = 'FATAL:  password authentication failed for user "relay"'
    assert "CN" not in connect_remedy(message, "source.dsn")
    assert connect_remedy(message, "source.dsn", has_certificate=True).endswith("where pg_hba.conf asks for that")
