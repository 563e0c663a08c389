"""An outbox as the file spells it: a table or a prefix of messages, its columns, its routes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from cdc_relay.config.fields import Column, RouteName, Table, fail
from cdc_relay.config.retention import Keep
from cdc_relay.config.routes import RouteConfig, check_routes, default_routes
from cdc_relay.config.section import Section

__all__ = ["ColumnsConfig", "OutboxConfig", "check_outboxes"]

_MAPPED = "kept with a parked record, and carried by the envelopes native and cloudevents."


class ColumnsConfig(Section):
    """Which columns of the outbox carry what; Debezium's names are the defaults."""

    id: Column = Field(
        default="id",
        description="Event id, for consumers that deduplicate: the header `id`, or what the envelope has for it.",
    )
    key: Column = Field(
        default="aggregateid", description="Record key: records of one key stay in order. NULL gives a null key."
    )
    type: Column = Field(
        default="type",
        description="Event type; the column must exist. Kept with a parked record; see docs/envelopes.md.",
    )
    payload: Column = Field(
        default="payload", description="Record value as Postgres prints it; bytea gives its bytes, NULL a null value."
    )
    timestamp: Column | None = Field(
        default=None,
        description="When the event occurred: a timestamptz, a timestamp in UTC, or milliseconds since 1970. The "
        "record's time; NULL or left out: the commit's.",
    )
    partition: Column | None = Field(
        default=None, description="The record's partition; NULL or left out: the partitioner of sink.kafka decides."
    )
    headers: Column | None = Field(
        default=None,
        description="A JSON object whose fields become headers, after those of the envelope: strings as their text, "
        "null as a header without a value, anything else as it is written.",
    )
    correlation_id: Column | None = Field(default=None, description=f"Correlation id; {_MAPPED}")
    causation_id: Column | None = Field(
        default=None, description="Id of what caused the event; carried by the envelopes native and cloudevents."
    )
    tenant: Column | None = Field(default=None, description=f"Tenant; {_MAPPED}")
    schema_version: Column | None = Field(
        default=None, description="Version of the payload's schema; carried by the envelopes native and cloudevents."
    )
    scheduled_at: Column | None = Field(
        default=None,
        description="When the record is due, a timestamptz or a timestamp in UTC: in the future it waits in the lot "
        "until then, and can be cancelled. NULL or past: at once. What is no point in time is parked as dead.",
    )


class OutboxConfig(Section):
    """One outbox and where its rows go."""

    table: Table | None = Field(
        default=None,
        description="`schema.table`; without a schema it is in public. Unquoted names fold to lower case as in SQL: "
        '`public."Order.Outbox"`. A partitioned table by its own name. Either this or message_prefix.',
    )
    message_prefix: RouteName | None = Field(
        default=None,
        description="A table-less outbox: `pg_logical_emit_message(true, '<prefix>', '{…}')`, transactional or not. "
        "The content is a JSON object whose fields are the columns; one that is not there is NULL.",
    )
    columns: ColumnsConfig = Field(default_factory=ColumnsConfig)
    routes: Annotated[tuple[RouteConfig, ...], AfterValidator(check_routes)] = Field(
        default_factory=default_routes,
        description="Where rows go; the first that matches. Left out: every row to `outbox.event.{aggregatetype}`.",
    )
    retention_seconds: Keep | None = Field(
        default=None,
        validation_alias="retention",
        serialization_alias="retention",
        description="How long rows stay in this table, or `off`. Left out: as retention.outbox says.",
    )

    @model_validator(mode="after")
    def _has_one_source(self) -> OutboxConfig:
        if self.table is None and self.message_prefix is None:
            fail([((), "table is missing; give it, or message_prefix for an outbox without one")])
        if self.table is not None and self.message_prefix is not None:
            fail([(("message_prefix",), "table is given too; write two outboxes, or remove one of the two")])
        if self.table is None and self.retention_seconds is not None:
            fail([(("retention",), "messages are in no table, so there is nothing to remove; leave it out")])
        return self

    @property
    def label(self) -> str:
        """For messages, and the outbox of a parked record."""
        return str(self.table) if self.message_prefix is None else f"message prefix {self.message_prefix}"


def check_outboxes(outboxes: tuple[OutboxConfig, ...]) -> tuple[OutboxConfig, ...]:
    if not outboxes:
        raise ValueError("at least one outbox is needed: - table: public.outbox")
    fail(_repeated([outbox.label for outbox in outboxes], outboxes))
    return outboxes


def _repeated(labels: list[str], outboxes: tuple[OutboxConfig, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    firsts: dict[str, int] = {}
    for place, label in enumerate(labels):
        if (first := firsts.setdefault(label, place)) != place:
            key = "table" if outboxes[place].message_prefix is None else "message_prefix"
            yield (place, key), f"the same {key} as outboxes[{first}]"
