"""Old rows of an outbox table, removed in small batches: each a short transaction that touches settled rows only."""

from __future__ import annotations

from cdc_relay.admin.retention.kept import KeptTable
from cdc_relay.admin.retention.proof import Proof
from cdc_relay.config import quote_identifier
from cdc_relay.sources.line import Line

__all__ = ["BATCH_ROWS", "COUNT_LIMIT", "count_old_rows", "is_unsettled", "remove_batch"]

BATCH_ROWS = 1000
COUNT_LIMIT = 100_000  # of a dry run: to count a big table to its end could take minutes
_ANSWER_SECONDS = 65.0  # the server's own limit speaks first


def is_unsettled(parameter: str) -> str:
    """SQL: the row's transaction is not before the mark. Rows so old that their number means nothing are before it."""
    return f"age(xmin) BETWEEN 0 AND age({parameter}::xid)"


def remove_batch(line: Line, table: KeptTable, proof: Proof) -> int:
    """One statement: its snapshot keeps each place the row's own, and the row as it was judged."""
    statement = (
        f"WITH old AS MATERIALIZED ({_old_rows(table, BATCH_ROWS)}), gone AS ("
        f"DELETE FROM {table.label} AS kept USING old"
        " WHERE kept.ctid = old.place AND kept.tableoid = old.leaf RETURNING 1) SELECT count(*) FROM gone"
    )
    [(count,)] = line.query(statement, _parameters(proof), timeout_seconds=_ANSWER_SECONDS)
    return int(count or 0)


def count_old_rows(line: Line, table: KeptTable, proof: Proof) -> tuple[int, bool]:
    """Up to COUNT_LIMIT, and whether there are more."""
    statement = f"SELECT count(*) FROM ({_old_rows(table, COUNT_LIMIT + 1)}) AS old"
    [(count,)] = line.query(statement, _parameters(proof), timeout_seconds=_ANSWER_SECONDS)
    return min(int(count or 0), COUNT_LIMIT), int(count or 0) > COUNT_LIMIT


def _old_rows(table: KeptTable, limit: int) -> str:
    """$1 the time before which rows go (the session is in UTC, so a timestamp fits too), $2 the mark."""
    column = quote_identifier(table.time_column)
    return (
        f"SELECT tableoid AS leaf, ctid AS place FROM {table.label}"
        f" WHERE {column} < $1::timestamptz AND NOT ({is_unsettled('$2')}) LIMIT {limit}"
    )


def _parameters(proof: Proof) -> list[str]:
    return [proof.cutoff.isoformat(), proof.short_xid]
