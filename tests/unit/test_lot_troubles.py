"""What Postgres says no with, as the operator of the lot hears it."""

from __future__ import annotations

import pytest

from cdc_relay.errors import AwayError, RefusedError, SourceError
from cdc_relay.parking.troubles import explain, explain_open
from cdc_relay.sources.line import QueryError

CASES = {
    "42501": "GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA cdc_relay",
    "53100": "free space",
    "25006": "primary",
    "57014": "locks",
    "55P03": "locks",
    "42P01": "cdc-relay setup -c FILE",
    "XX000": "Postgres' own message",
}


@pytest.mark.parametrize("sqlstate", CASES)
def test_a_refusal_of_an_open_lot_is_away_with_its_remedy(sqlstate: str) -> None:
    error = explain(QueryError("what Postgres said", sqlstate), role="relay")
    assert isinstance(error, AwayError)
    assert "what Postgres said" in error.message
    assert CASES[sqlstate] in error.remedy


@pytest.mark.parametrize("sqlstate", ["22P02", "22021", "23514"])
def test_messages_that_quote_a_row_are_not_passed_on(sqlstate: str) -> None:
    error = explain(QueryError('invalid input: "secret"', sqlstate), role="relay")
    assert "secret" not in str(error)
    assert sqlstate in error.message


def test_a_broken_connection_is_away() -> None:
    assert isinstance(explain(SourceError("it broke"), role="relay"), AwayError)


@pytest.mark.parametrize("sqlstate", ["42501", "42P01", "3F000"])
def test_what_an_operator_has_to_repair_is_refused_while_opening(sqlstate: str) -> None:
    assert isinstance(explain_open(QueryError("no", sqlstate), role="relay"), RefusedError)


def test_a_role_s_name_is_quoted_in_the_grant() -> None:
    assert 'TO "re""lay"' in explain(QueryError("no", "42501"), role='re"lay').remedy
