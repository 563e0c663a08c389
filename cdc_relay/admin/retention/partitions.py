"""Months made and dropped as partitions, each in a short transaction that gives up rather than let producers wait.

As the table's owner, so that a new partition belongs to whom the others belong.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from cdc_relay.admin.retention.kept import KeptTable
from cdc_relay.admin.retention.month_rows import count_locked_rows, count_settled_rows
from cdc_relay.admin.retention.months import Month, Partition, leaf_name
from cdc_relay.admin.retention.proof import Proof
from cdc_relay.admin.retention.session import STATEMENT_LIMIT_SECONDS
from cdc_relay.config import quote_identifier
from cdc_relay.errors import RelayError
from cdc_relay.sources.line import Line

__all__ = ["attach_sql", "count_rows", "drop_month", "leaf_label", "make_month"]

_ANSWER_SECONDS = STATEMENT_LIMIT_SECONDS + 5  # the server's own limit speaks first
_LIKE = "INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING GENERATED INCLUDING STORAGE INCLUDING COMPRESSION"


def make_month(line: Line, table: KeptTable, month: Month, *, owner: str) -> str:
    """The partition's name, as SQL writes it."""
    with _as_owner(line, owner):
        line.query(attach_sql(table.label, table.schema, table.name, month), timeout_seconds=_ANSWER_SECONDS)
    return leaf_label(table.schema, table.name, month)


def drop_month(line: Line, partition: Partition, *, owner: str, proof: Proof) -> int | None:
    """How many rows went with it; None: it has a row that is not surely settled, and stays.

    Judged anew under a lock, because a row may have come since `count_rows`, which spares most months the lock.
    """
    with _as_owner(line, owner):
        row_count = count_locked_rows(line, partition.name, proof)
        if row_count is not None:
            line.query(f"SET LOCAL statement_timeout = '{STATEMENT_LIMIT_SECONDS}s'")
            line.query(f"DROP TABLE {partition.name}", timeout_seconds=_ANSWER_SECONDS)
    return row_count


def count_rows(line: Line, partition: Partition, *, owner: str, proof: Proof) -> int | None:
    """As drop_month, without a lock and without dropping."""
    with _as_owner(line, owner):
        return count_settled_rows(line, partition.name, proof)


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
    line.query("COMMIT", timeout_seconds=_ANSWER_SECONDS)
