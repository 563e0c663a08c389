"""A JSON object that tells all the relay knows of an event. Every member is always there; what is unknown is null."""

from __future__ import annotations

from dataclasses import dataclass

from cdc_relay.model import Failure, Transaction
from cdc_relay.protocol.lsn import format_lsn
from cdc_relay.protocol.messages import Column
from cdc_relay.routing.envelopes.envelope import Encode, Encoded, Source, Values
from cdc_relay.routing.envelopes.members import (
    Member,
    bind_text,
    bind_value,
    per_transaction,
    place,
    refuse,
    text_or_null,
)
from cdc_relay.routing.event_columns import EventColumns
from cdc_relay.routing.json_text import quote
from cdc_relay.routing.payloads import bind_pieces
from cdc_relay.routing.values import iso_utc

__all__ = ["Native"]

_CONTENT_TYPE = ("content-type", b"application/json")


@dataclass(frozen=True, slots=True)
class Native:
    """Headers: id, type and content-type. A NULL payload is null inside, never a tombstone."""

    @property
    def columns(self) -> tuple[str, ...]:
        return ()

    def bind(self, outbox: EventColumns, columns: tuple[Column, ...]) -> Encode:
        """Pieces are joined, not a dict dumped: the payload's text must not change."""
        id_at, type_at = place(columns, outbox.id_column), place(columns, outbox.type_column)
        payload_at = place(columns, outbox.payload_column)
        payload = bind_pieces(columns[payload_at].type_oid)
        occurred_at, tail = bind_value(columns, outbox.timestamp_column), _bind_tail(outbox, columns)
        commit = per_transaction(_render_commit)
        label = quote(outbox.label)

        def encode(row: Values, key: bytes | None, source: Source) -> Encoded | Failure:
            transaction, ordinal = source
            event_id, kind = row[id_at], row[type_at]
            try:
                head = (
                    f'{{"id":{text_or_null(event_id)},"type":{text_or_null(kind)},"source":{label}'
                    f',"key":{text_or_null(key)},"occurred_at":{occurred_at(row)},{commit(transaction)}'
                    f',"position":{ordinal},{tail(row)},"payload":'
                ).encode()
                value = b"".join((head, *payload(row[payload_at]), b"}"))
            except ValueError:
                return refuse(row, _bind_all(outbox, columns))
            return Encoded(value, [("id", event_id), ("type", kind), _CONTENT_TYPE])

        return encode


def _bind_tail(outbox: EventColumns, columns: tuple[Column, ...]) -> Member:
    correlation_id = bind_text(columns, outbox.correlation_column)
    causation_id = bind_text(columns, outbox.causation_column)
    tenant = bind_text(columns, outbox.tenant_column)
    schema_version = bind_value(columns, outbox.version_column)

    def render(row: Values) -> str:
        return (
            f'"correlation_id":{correlation_id(row)},"causation_id":{causation_id(row)},"tenant":{tenant(row)}'
            f',"schema_version":{schema_version(row)}'
        )

    return render


def _render_commit(transaction: Transaction) -> str:
    lsn = format_lsn(transaction.commit_lsn)
    if not transaction.commit_time_us:  # a message that no commit was waited for
        return f'"committed_at":null,"lsn":"{lsn}","xid":null'
    return f'"committed_at":"{iso_utc(transaction.commit_time_us)}","lsn":"{lsn}","xid":{transaction.xid}'


def _bind_all(outbox: EventColumns, columns: tuple[Column, ...]) -> dict[str, Member]:
    """By column, to find the one that cannot be said."""
    return {name: bind_value(columns, name) for name in outbox.mapped_columns}
