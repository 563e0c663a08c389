"""What Postgres says to who reads a table again, and what an operator is told."""

from __future__ import annotations

from typing import Any

import pytest

from cdc_relay.errors import AwayError, ConfigError, RefusedError, RelayError, SourceError
from cdc_relay.replay.reader_refusals import explained
from cdc_relay.replay.selection import Selection
from cdc_relay.sources.line import QueryError
from tests.unit.session_rig import OUTBOX

ONE, TWO = ("public.outbox",), ("public.outbox", "sales.outbox")


def told(exc: Exception, **selection: Any) -> RelayError:
    with pytest.raises(RelayError) as caught, explained(OUTBOX, Selection(**{"outboxes": ONE, **selection})):
        raise exc
    return caught.value


@pytest.mark.parametrize("exc", [SourceError("the line broke"), QueryError("shutting down", "57P01")])
def test_a_server_that_is_away_is_tried_again(exc: Exception) -> None:
    found = told(exc)
    assert isinstance(found, AwayError)
    assert found.remedy == "check Postgres; it is tried again"


@pytest.mark.parametrize(
    ("exc", "remedy"),
    [
        (
            QueryError("permission denied for table outbox", "42501"),
            "source.dsn SELECT on public.outbox",
        ),
        (QueryError('query would be affected by row-level security policy for "outbox"', "42501"), "BYPASSRLS"),
        (QueryError("canceling statement due to statement timeout", "57014"), "ask for less in --where"),
        (QueryError("canceling statement due to lock timeout", "55P03"), "who has the table locked"),
        (QueryError("character has no equivalent in UTF8", "22P05"), "leave its row out with --where"),
        (QueryError("internal error", "XX000"), "see Postgres' own message"),
        (QueryError('column "x" does not exist', "42703"), "see Postgres' own message"),  # it asked for nothing
    ],
)
def test_what_is_refused_has_a_remedy(exc: Exception, remedy: str) -> None:
    found = told(exc)
    assert isinstance(found, RefusedError)
    assert remedy in found.remedy


@pytest.mark.parametrize(
    ("selection", "option", "remedy"),
    [
        ({"where": "x = 1"}, "--where: ", "correct it, and begin again"),
        ({"ids": ("e1",)}, "--ids: ", "correct it, and begin again"),
        ({"where": "x = 1", "ids": ("e1",)}, "--where or --ids: ", "correct it, and begin again"),
        ({"where": "x = 1", "outboxes": TWO}, "--where: ", "correct it, and begin again; --outbox names one table"),
    ],
)
def test_what_was_written_wrongly_names_its_option(selection: dict[str, Any], option: str, remedy: str) -> None:
    found = told(QueryError('column "x" does not exist', "42703"), **selection)
    assert isinstance(found, ConfigError)
    assert (found.message.startswith(option), found.remedy) == (True, remedy)


@pytest.mark.parametrize("exc", [SourceError("the line broke"), AwayError("no answer")])
def test_after_a_failure_nothing_is_known_of_the_connection(exc: Exception) -> None:
    dropped: list[str] = []
    with pytest.raises(AwayError), explained(OUTBOX, Selection(ONE), on_away=lambda: dropped.append("line")):
        raise exc
    assert dropped == ["line"]
