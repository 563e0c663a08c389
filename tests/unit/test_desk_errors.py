"""What psycopg's errors mean to an operator of the lot."""

from __future__ import annotations

import psycopg
import pytest

from cdc_relay.errors import AwayError, RefusedError, RelayError
from cdc_relay.parking.desk_errors import explained


@pytest.mark.parametrize(
    ("exc", "kind", "said"),
    [
        (psycopg.errors.UndefinedTable("no such table"), RefusedError, "the lot is not in this database, or older"),
        (psycopg.errors.InsufficientPrivilege("denied"), RefusedError, "the lot is closed to role clerk"),
        (psycopg.errors.DeadlockDetected("deadlock"), AwayError, "the lot did not answer in time"),
        (psycopg.errors.ReadOnlySqlTransaction("read-only"), RefusedError, "the lot cannot be changed here"),
        (psycopg.OperationalError("the line broke"), AwayError, "the connection to the lot broke"),
        (psycopg.errors.CheckViolation("violates a check"), RefusedError, "the lot refused: violates a check (23514)"),
    ],
)
def test_an_error_says_what_happened_and_what_to_do(exc: psycopg.Error, kind: type[RelayError], said: str) -> None:
    with pytest.raises(kind) as caught, explained("clerk"):
        raise exc
    assert caught.value.message.startswith(said)
    assert caught.value.remedy
