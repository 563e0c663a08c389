"""Months of an outbox that is partitioned by them, made by hand for tests of retention."""

from __future__ import annotations

from datetime import UTC, datetime

from cdc_relay.admin.retention.months import Month, leaf_name
from tests.integration.retention_rig import Ground

__all__ = ["AHEAD", "BY_MONTH", "THIS", "add", "add_month", "earlier", "leaves", "names"]

THIS = Month.of(datetime.now(UTC))
AHEAD = [THIS, THIS.next, THIS.next.next]
BY_MONTH = "PARTITION BY RANGE (created_at)"


def earlier(month: Month, count: int) -> Month:
    number = month.year * 12 + month.number - 1 - count
    return Month(number // 12, number % 12 + 1)


def add(ground: Ground, name: str, begin: str, end: str) -> None:
    ground.database.execute(f"CREATE TABLE {name} PARTITION OF outbox FOR VALUES FROM ({begin}) TO ({end})")


def add_month(ground: Ground, month: Month, name: str = "", *, rows: int = 0) -> str:
    """In UTC; by default under the name that retention gives."""
    name = name or leaf_name("outbox", month)
    add(ground, name, f"'{month.begin} +00'", f"'{month.end} +00'")
    ground.database.execute(
        "INSERT INTO outbox (aggregateid, created_at) SELECT 'old', %s::timestamptz FROM generate_series(1, %s)",
        [f"{month.begin} +00", rows],
    )
    return f"public.{name}"


def leaves(ground: Ground) -> list[str]:
    rows = ground.database.execute("SELECT inhrelid::regclass::text FROM pg_inherits ORDER BY 1")
    return [str(name) for (name,) in rows if "index" not in str(name)]


def names(months: list[Month]) -> list[str]:
    return sorted(leaf_name("outbox", month) for month in months)
