"""The rows of a month, judged: in one long read that nobody notices, or in pieces under a lock that gives way.

SHARE keeps writers out of the month. A DELETE or UPDATE of any row by its id wants every partition and waits for it,
so the lock is held from piece to piece only while nobody waits.
"""

from __future__ import annotations

from cdc_relay.admin.retention.proof import Proof
from cdc_relay.admin.retention.rows import is_unsettled
from cdc_relay.errors import AwayError
from cdc_relay.sources.line import Line

__all__ = ["count_locked_rows", "count_settled_rows"]

PIECE_PAGES = 4096  # 32 MiB: far less than a second, as a rule
_PIECE_SECONDS = 1
_READ_SECONDS = 1800
# $1 the month. A month may be partitioned itself: the largest of its own partitions counts.
_PAGES = """
SELECT coalesce(max(pg_relation_size(relid)) / current_setting('block_size')::int, 0)
  FROM pg_partition_tree($1::regclass) WHERE isleaf
"""
_IS_WANTED = """
SELECT 1 FROM pg_locks
 WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
   AND relation IN (SELECT relid FROM pg_partition_tree($1::regclass)) LIMIT 1
"""


def count_settled_rows(line: Line, name: str, proof: Proof) -> int | None:
    """None: there is a row that is not surely settled. Without a lock: another may come meanwhile."""
    line.query(f"SET LOCAL statement_timeout = '{_READ_SECONDS}s'")
    [(row_count, unsettled_count)] = line.query(_judged(name), [proof.short_xid], timeout_seconds=_READ_SECONDS + 5)
    return None if int(unsettled_count or 0) else int(row_count or 0)


def count_locked_rows(line: Line, name: str, proof: Proof) -> int | None:
    """The same in the transaction that drops it. AwayError: somebody waits, and comes first."""
    line.query(f"LOCK TABLE {name} IN SHARE MODE")
    line.query(f"SET LOCAL statement_timeout = '{_PIECE_SECONDS}s'")
    [(page_count,)] = line.query(_PAGES, [name])
    total = 0
    for page in range(0, int(page_count or 0), PIECE_PAGES):
        [(row_count, unsettled_count)] = line.query(f"{_judged(name)} WHERE {_piece(page)}", [proof.short_xid])
        if int(unsettled_count or 0):
            return None
        _give_way(line, name)
        total += int(row_count or 0)
    return total


def _give_way(line: Line, name: str) -> None:
    if line.query(_IS_WANTED, [name]):
        raise AwayError(f"partition {name} is in use: somebody waits for it", remedy="nothing: it is tried again")


def _judged(name: str) -> str:
    return f"SELECT count(*), count(*) FILTER (WHERE {is_unsettled('$1')}) FROM {name}"


def _piece(page: int) -> str:
    return f"ctid >= '({page},0)'::tid AND ctid < '({page + PIECE_PAGES},0)'::tid"
