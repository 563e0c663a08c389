"""A table of which rows or months shall go, as the catalog has it: its time, its partitions, our rights. Only looks."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

from cdc_relay.admin.retention.kept import KeptTable
from cdc_relay.config import quote_identifier
from cdc_relay.sources.line import Line

__all__ = ["TIME_TYPES", "Leaf", "TableState", "read_table"]

TIME_TYPES = ("timestamp with time zone", "timestamp without time zone")
# $1 schema, $2 table, $3 time column. Rights are asked for, not tried: a pass that may not delete begins no scan.
_TABLE = """
SELECT json_build_object(
  'owner', r.rolname,
  'is_partitioned', c.relkind = 'p',
  'time_type', (SELECT format_type(a.atttypid, NULL) FROM pg_attribute a
                 WHERE a.attrelid = c.oid AND a.attname = $3 AND a.attnum > 0 AND NOT a.attisdropped),
  'has_index', EXISTS (SELECT FROM pg_index i JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = $3
                        WHERE i.indrelid = c.oid AND i.indkey[0] = a.attnum AND i.indpred IS NULL),
  'is_by_range', coalesce((SELECT p.partstrat = 'r' AND p.partnatts = 1 AND p.partattrs[0] = a.attnum
                             FROM pg_partitioned_table p JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = $3
                            WHERE p.partrelid = c.oid), false),
  'leaves', (SELECT coalesce(json_agg(json_build_array(n2.nspname, l.relname, pg_get_expr(l.relpartbound, l.oid),
                                                       EXISTS (SELECT FROM pg_partition_tree(l.oid) t
                                                                 JOIN pg_class tc ON tc.oid = t.relid
                                                                WHERE tc.relkind = 'f')) ORDER BY l.relname), '[]')
               FROM pg_inherits h JOIN pg_class l ON l.oid = h.inhrelid JOIN pg_namespace n2 ON n2.oid = l.relnamespace
              WHERE h.inhparent = c.oid AND l.relispartition AND c.relkind = 'p'),
  'may_use', has_schema_privilege(n.oid, 'USAGE'),
  'may_select', has_table_privilege(c.oid, 'SELECT'),
  'may_delete', has_table_privilege(c.oid, 'DELETE'),
  'is_owner', pg_has_role(c.relowner, 'MEMBER'),
  'may_create', has_schema_privilege(r.oid, n.oid, 'CREATE'),
  'role', current_user)
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_roles r ON r.oid = c.relowner
 WHERE n.nspname = $1 AND c.relname = $2 AND c.relkind IN ('r', 'p')
"""


class Leaf(NamedTuple):
    """A partition, as the catalog has it."""

    name: str  # as SQL writes it
    bound: str
    is_foreign: bool  # or a partition of it is


@dataclass(frozen=True, slots=True)
class TableState:
    owner: str
    is_partitioned: bool
    time_type: str  # empty: there is no such column
    has_index: bool  # that begins with the time
    is_by_range: bool  # partitioned, by the time alone
    leaves: tuple[Leaf, ...]
    missing_rights: tuple[str, ...]  # for removing rows: as GRANT wants them, with what they are on
    is_owner: bool  # or a member of it
    owner_may_create: bool  # in the table's schema
    role: str


def read_table(line: Line, table: KeptTable) -> TableState | None:
    rows = line.query(_TABLE, [table.schema, table.name, table.time_column])
    if not rows:
        return None
    found: dict[str, Any] = json.loads(rows[0][0] or "{}")
    return TableState(
        owner=found["owner"],
        is_partitioned=found["is_partitioned"],
        time_type=found["time_type"] or "",
        has_index=found["has_index"],
        is_by_range=found["is_by_range"],
        leaves=tuple(Leaf(_label(schema, name), *more) for schema, name, *more in found["leaves"]),
        missing_rights=tuple(_missing_rights(table, found)),
        is_owner=found["is_owner"],
        owner_may_create=found["may_create"],
        role=found["role"],
    )


def _label(schema: str, name: str) -> str:
    return f"{quote_identifier(schema)}.{quote_identifier(name)}"


def _missing_rights(table: KeptTable, found: dict[str, Any]) -> list[str]:
    missing = [] if found["may_use"] else [f"USAGE ON SCHEMA {quote_identifier(table.schema)}"]
    rights = [name for name, key in (("SELECT", "may_select"), ("DELETE", "may_delete")) if not found[key]]
    return [*missing, f"{', '.join(rights)} ON {table.label}"] if rights else missing
