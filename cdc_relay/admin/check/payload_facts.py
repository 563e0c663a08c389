"""The largest payload in each outbox table, as far as it can be known quickly. Needs SELECT; reads a sample."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass

from cdc_relay.admin.check.lines import open_line
from cdc_relay.admin.check.postgres_facts import read_types
from cdc_relay.config import quote_identifier
from cdc_relay.errors import RelayError
from cdc_relay.routing.router import Outbox

__all__ = ["Largest", "read_largest"]

_SAMPLE_ROWS = 100_000
_SECONDS = 2
# Stored sizes are known without reading the values: only the largest are looked at, and those as they will be sent.
_LARGEST = """
SELECT max(octet_length({value})) FROM (
    SELECT payload FROM (SELECT {column} AS payload FROM {table} LIMIT {rows}) AS sample
     ORDER BY pg_column_size(payload) DESC NULLS LAST LIMIT 20) AS largest
"""


@dataclass(frozen=True, slots=True)
class Largest:
    table: str
    byte_count: int | None
    trouble: str = ""  # why it is not known


def read_largest(conninfo: str, outbox: Outbox) -> Largest:
    """On a line of its own: no right, or no time, must end nothing else."""
    try:
        with closing(open_line(conninfo)) as line:
            line.query(f"SET statement_timeout = '{_SECONDS}s'")
            is_binary = read_types(line, outbox.schema, outbox.name).get(outbox.payload_column) == "bytea"
            query = _LARGEST.format(
                value="payload" if is_binary else "payload::text",
                column=quote_identifier(outbox.payload_column),
                table=outbox.label,
                rows=_SAMPLE_ROWS,
            )
            [(found,)] = line.query(query)
            return Largest(outbox.label, int(found or 0))
    except RelayError as exc:
        return Largest(outbox.label, None, exc.message)
