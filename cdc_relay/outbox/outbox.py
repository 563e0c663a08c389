"""Where events are written: a table or a prefix of messages, as `outboxes[]` of the relay's YAML says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .errors import OutboxError
from .names import quote, read_column, read_table

__all__ = ["LIMIT_BYTES", "Outbox"]

# librdkafka sends 1,000,000 bytes by default; an envelope, the route's headers and the record's own frame need room.
LIMIT_BYTES = 950_000

_COLUMNS = {
    "id": "id",
    "aggregatetype": "aggregatetype",
    "key": "aggregateid",
    "type": "type",
    "payload": "payload",
    "headers": "headers",
    "correlation_id": "correlation_id",
    "scheduled_at": "scheduled_at",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outbox:
    """`Outbox()` is the table public.outbox with Debezium's column names."""

    table: str | None = None  # as SQL spells it: public."Order.Outbox"; without a schema it is in public
    message_prefix: str | None = None  # table-less: pg_logical_emit_message with this prefix
    columns: Mapping[str, str | None] = field(default_factory=dict)  # those with other names; aggregatetype may be None
    keep: bool = True  # False: the row is deleted in the transaction that inserts it, and the table stays empty
    limit_bytes: int = LIMIT_BYTES  # of key, payload and headers together
    require_transaction: bool = True  # False: an event may be a transaction of its own

    sql_table: str = field(init=False, repr=False, compare=False)  # quoted
    names: Mapping[str, str] = field(init=False, repr=False, compare=False)  # by role, as the catalog has them

    def __post_init__(self) -> None:
        if self.table is not None and self.message_prefix is not None:
            raise OutboxError("table and message_prefix are given; an outbox is one of the two")
        if self.message_prefix is not None:
            _check_prefix(self.message_prefix, keep=self.keep)
        schema, name = read_table("public.outbox" if self.table is None else self.table)
        object.__setattr__(self, "sql_table", f"{quote(schema)}.{quote(name)}")  # frozen for everybody else
        object.__setattr__(self, "names", _read_columns(self.columns))


def _check_prefix(prefix: str, *, keep: bool) -> None:
    if not keep:
        raise OutboxError("keep=False is for tables; a message leaves no row behind")
    if not isinstance(prefix, str) or not prefix or "\0" in prefix:
        raise OutboxError("message_prefix must be text, not empty and without NUL characters")


def _read_columns(given: Mapping[str, str | None]) -> dict[str, str]:
    if unknown := sorted(set(given) - set(_COLUMNS)):
        raise OutboxError(f"columns has {', '.join(unknown)}; there are {', '.join(_COLUMNS)}")
    if needed := [role for role, name in given.items() if name is None and role != "aggregatetype"]:
        raise OutboxError(f"columns.{needed[0]} is None; only aggregatetype may be")
    named = {**_COLUMNS, **given}
    return _check_distinct({role: read_column(name) for role, name in named.items() if name is not None})


def _check_distinct(names: dict[str, str]) -> dict[str, str]:
    for name in names.values():
        if len(roles := [role for role, other in names.items() if other == name]) > 1:
            raise OutboxError(f"columns: {' and '.join(roles)} are the same column")
    return names
