"""Points in time that we accept are accepted by Postgres, and mean the same: the lot keeps them as a timestamptz."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest

from cdc_relay.routing.schedule import parse_due
from tests.fixtures.database import Database

pytestmark = pytest.mark.core

SEED, COUNT = 4711, 4_000
YEARS = ("0001", "1969", "1970", "2024", "4713", "4714", "9999", "10000", "012024", "294275", "294276", "294277")
DAYS = ("01-01", "02-28", "02-29", "11-23", "11-24", "12-31", "13-01", "06-31")
CLOCKS = ("00:00:00", "23:59:59", "12:30:15", "24:00:00", "12:00:60")
FRACTIONS = ("", ".5", ".999999", ".9999999", ".0000005", ".123456789")
ZONES = (
    "",
    "Z",
    "+00",
    "+01",
    "-01",
    "+0530",
    "-05:30",
    "+15:59",
    "-15:59",
    "+15:60",
    "+16",
    "-16:00",
    "+23:59",
    "+99",
)


def make_moment(rng: random.Random) -> str:
    day = f"{rng.choice(YEARS)}-{rng.choice(DAYS)}{rng.choice(' T')}"
    return day + rng.choice(CLOCKS) + rng.choice(FRACTIONS) + rng.choice(ZONES) + rng.choice(["", "", "", " BC"])


def test_a_moment_that_we_accept_is_the_same_to_postgres(database: Database) -> None:
    rng = random.Random(SEED)
    moments = sorted({make_moment(rng) for _ in range(COUNT)})
    due = {text: found for text in moments if (found := parse_due(text.encode())) is not None}
    known = read_by_postgres(database, [found.text for found in due.values()])
    assert [text for text, found in due.items() if known[found.text] is None] == []
    # Postgres rounds where there are more than six digits, and we cut
    assert {text for text, found in due.items() if abs((known[found.text] or Decimal(0)) - found.at_us) > 1} == set()
    assert len(due) > COUNT / 20


def read_by_postgres(database: Database, texts: list[str]) -> dict[str, Decimal | None]:
    """Microseconds since 1970; None for what it refuses. By parts: extract() alone rounds in the last centuries."""
    whole = "extract(epoch FROM date_trunc('minute', t::timestamptz)) * 1000000"
    database.execute(
        "CREATE FUNCTION moment(t text) RETURNS numeric LANGUAGE plpgsql AS $$ BEGIN"
        f" RETURN {whole} + extract(microseconds FROM t::timestamptz); EXCEPTION WHEN OTHERS THEN RETURN NULL; END $$"
    )
    return dict(database.execute("SELECT t, moment(t) FROM unnest(%s::text[]) t", [texts]))
