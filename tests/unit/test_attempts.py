"""A failure at several addresses is read as what each of them said."""

from __future__ import annotations

import pytest
from psycopg import Connection, OperationalError

from cdc_relay.sources.attempts import by_host, split_attempts
from tests.fixtures.scratch import free_port


def failure(**params: str | int) -> str:
    with pytest.raises(OperationalError) as raised:
        Connection.connect(connect_timeout=5, **params)  # type: ignore[arg-type]  # libpq's parameters
    return str(raised.value)


def test_what_psycopg_really_says_is_split_by_address() -> None:
    first, second = free_port(), free_port()
    attempts = split_attempts(failure(host="127.0.0.1,127.0.0.1", port=f"{first},{second}"))
    assert [(each.host, each.address, each.port) for each in attempts] == [
        ("127.0.0.1", "127.0.0.1", first),
        ("127.0.0.1", "127.0.0.1", second),
    ]
    assert all(f"port {each.port} failed: Connection refused" in each.message for each in attempts)


def test_one_address_is_not_split() -> None:
    assert split_attempts(failure(host="127.0.0.1", port=free_port())) == []


TEXT = """last said
Multiple connection attempts failed. All failures were:
- host: 'localhost', port: '5432', hostaddr: '::1': refused
	Is the server running?
- host: 'localhost', port: '5432', hostaddr: '127.0.0.1': FATAL:  no
- host: 'db2', port: None, hostaddr: None: last said"""


def test_the_addresses_of_one_host_belong_together() -> None:
    hosts = by_host(split_attempts(TEXT))
    assert [[each.address for each in host] for host in hosts] == [["::1", "127.0.0.1"], ["db2"]]
    assert hosts[0][0].message == "refused\n\tIs the server running?"
    assert hosts[1][0].port == 5432
