"""The workloads, as data: what is written, and how the topics look. Writes nothing itself."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BAD_BACKLOG_ROWS", "DEFAULT", "TENANTS", "WORKLOADS", "Workload", "find_workload"]


@dataclass(frozen=True)
class Workload:
    name: str
    about: str
    rows: int = 300_000
    per_transaction: int = 10
    payload_bytes: int = 270
    key_count: int = 1000
    topic_count: int = 1
    partitions: int = 1
    unmapped_columns: int = 0
    other_share: float = 0.0  # of the WAL, from a table that is not published
    compression: str = "none"
    tls: bool = False  # on both lines
    with_reader: bool = False  # the raw reader that naps tells something here
    with_all: bool = False  # so do all peers

    def aggregate_types(self) -> list[str]:
        return [f"{self.name}-{number}" for number in range(self.topic_count)]


DEFAULT = Workload("default", "10 rows per transaction, 270 B of jsonb, 1,000 keys, one partition", with_all=True)
WORKLOADS = (
    DEFAULT,
    Workload("single", "one row per transaction", per_transaction=1, with_all=True),
    Workload("tiny", "50 B of jsonb", payload_bytes=50, with_reader=True),
    Workload("kilobyte", "1 KB of jsonb", payload_bytes=1000, rows=200_000),
    Workload("ten-kilobytes", "10 KB of jsonb", payload_bytes=10_000, rows=20_000, with_reader=True),
    Workload("large", "100 KB of jsonb", payload_bytes=100_000, rows=4_000, with_reader=True),
    Workload("hot-key", "one key for all", key_count=1, partitions=12),
    Workload("many-keys", "10,000 keys", key_count=10_000, partitions=12),
    Workload("topics", "200 topics", topic_count=200, rows=200_000),
    Workload("wide", "30 columns that nobody asks for", unmapped_columns=30, rows=200_000, with_reader=True),
    Workload("others", "40 % of the WAL from other tables", other_share=0.4, with_reader=True),
    Workload("partitions-12", "12 partitions", partitions=12),
    Workload("partitions-120", "120 partitions", partitions=120),
    Workload("lz4", "compression lz4", compression="lz4"),
    Workload("zstd", "compression zstd", compression="zstd"),
    Workload("tls", "TLS on both lines, Postgres 15", tls=True, with_reader=True),
    Workload("transaction-10k", "10,000 rows per transaction", per_transaction=10_000, with_reader=True),
    Workload("transaction-1m", "one transaction of 1,000,000 rows", per_transaction=1_000_000, rows=1_000_000),
)
# Of the parts of the same names.
TENANTS = Workload("tenants", "the multi-tenant example, compression lz4", partitions=12, compression="lz4")
BAD_BACKLOG_ROWS = 300_000


def find_workload(name: str) -> Workload:
    return next(workload for workload in WORKLOADS if workload.name == name)
