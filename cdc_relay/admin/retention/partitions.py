"""Months made and dropped as partitions, each in a short transaction that gives up rather than let producers wait.

As the table's owner, so that a new partition belongs to whom the others belong.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from cdc_relay.admin.retention.kept import KeptTable
from cdc_relay.admin.retention.months import Month, Partition, leaf_name
from cdc_relay.admin.retention.proof import Proof
from cdc_relay.admin.retention.rows import is_unsettled
from cdc_relay.admin.retention.session import STATEMENT_LIMIT_SECONDS
from cdc_relay.config import quote_identifier
from cdc_relay.errors import RelayError
from cdc_relay.sources.line import Line

__all__ = ["attach_sql", "count_rows", "drop_month", "leaf_label", "make_month"]

_READ_SECONDS = 1800  # to read a month once before it goes; nobody who writes new rows waits for that
_LIKE = "INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING GENERATED INCLUDING STORAGE INCLUDING COMPRESSION"


def make_month(line: Line, table: KeptTable, month: Month, *, owner: str) -> str:
    """The partition's name, as SQL writes it."""
    with _as_owner(line, owner):
        line.query(attach_sql(table.label, table.schema, table.name, month))
    return leaf_label(table.schema, table.name, month)


def drop_month(line: Line, partition: Partition, *, owner: str, proof: Proof) -> int | None:
    """How many rows went with it; None: it has a row that is not surely settled, and stays.

    SHARE keeps everybody from writing into this old month, and nobody from reading it, while its rows are judged.
    """
    with _as_owner(line, owner):
        line.query(f"LOCK TABLE {partition.name} IN SHARE MODE")
        row_count, unsettled_count = _count(line, partition.name, proof)
        if unsettled_count:
            return None
        line.query(f"SET LOCAL statement_timeout = '{STATEMENT_LIMIT_SECONDS}s'; DROP TABLE {partition.name}")
    return row_count


def count_rows(line: Line, partition: Partition, *, owner: str, proof: Proof) -> int | None:
    """As drop_month, for a dry run."""
    with _as_owner(line, owner):
        row_count, unsettled_count = _count(line, partition.name, proof)
    return None if unsettled_count else row_count


def attach_sql(label: str, schema: str, name: str, month: Month) -> str:
    """Made first and attached then: PARTITION OF would lock the whole table against its producers."""
    leaf = leaf_label(schema, name, month)
    return (
        f"CREATE TABLE {leaf} (LIKE {label} {_LIKE});"
        f" ALTER TABLE {label} ATTACH PARTITION {leaf} FOR VALUES"
        f" FROM ('{month.begin:%Y-%m-%d} 00:00:00+00') TO ('{month.end:%Y-%m-%d} 00:00:00+00')"
    )


def leaf_label(schema: str, name: str, month: Month) -> str:
    return f"{quote_identifier(schema)}.{quote_identifier(leaf_name(name, month))}"


def _count(line: Line, name: str, proof: Proof) -> tuple[int, int]:
    line.query(f"SET LOCAL statement_timeout = '{_READ_SECONDS}s'")
    statement = f"SELECT count(*), count(*) FILTER (WHERE {is_unsettled('$1')}) FROM {name}"
    [(row_count, unsettled_count)] = line.query(statement, [proof.short_xid], timeout_seconds=_READ_SECONDS + 5)
    return int(row_count or 0), int(unsettled_count or 0)


@contextmanager
def _as_owner(line: Line, owner: str) -> Iterator[None]:
    line.query("BEGIN")
    try:
        line.query(f"SET LOCAL ROLE {quote_identifier(owner)}")
        yield
    except BaseException:
        with suppress(RelayError):  # the first error says more
            line.query("ROLLBACK")
        raise
    line.query("COMMIT")
