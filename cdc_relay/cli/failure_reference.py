"""The tables of docs/failures.md as text, from the code itself: python -m cdc_relay.cli.failure_reference."""

from __future__ import annotations

import sys

from cdc_relay.delivery.failures import TABLE, Row
from cdc_relay.model import Failure
from cdc_relay.routing import refusals
from cdc_relay.routing.fields import Field

__all__ = ["EXAMPLES", "reference"]

_ROUTING_HEAD = """Of routing, for a table `public.outbox` and a column `place`. All are *permanent*:
the row is dead at once, and a retry routes it again.

| code | says | what to do |
|---|---|---|
"""
_HEAD = """
Of the broker and the client library:

| scope | action | class | codes | what to do |
|---|---|---|---|---|
"""
_PLACE = Field("place")

EXAMPLES: tuple[Failure, ...] = (
    refusals.no_route("public.outbox", [(_PLACE, b"nowhere")]),
    refusals.null_in_topic([_PLACE]),
    refusals.illegal_topic([_PLACE]),
    refusals.null_in_key([_PLACE]),
    refusals.null_key("place", "orders"),
    refusals.bad_key(),
    refusals.bad_partition("{place}"),
    refusals.bad_timestamp("{place}"),
    refusals.bad_headers("place"),
    refusals.bad_schedule("place"),
    refusals.missing_columns("public.outbox", ["place"]),
    refusals.bad_message("message prefix outbox"),
    refusals.bad_bytea("place"),
    refusals.bad_value("place"),
    refusals.bad_json("place", "native"),
    refusals.huge_json(),
    refusals.spoiled_json("place"),
    refusals.missing_attribute("place", "id"),
    refusals.bad_attribute("place", "type"),
    refusals.bad_event_time("place"),
    refusals.unknown_outbox("public.outbox"),
)


def reference() -> str:
    return _ROUTING_HEAD + "".join(map(_routing_line, EXAMPLES)) + _HEAD + "".join(map(_line, TABLE))


def _routing_line(failure: Failure) -> str:
    return f"| `{failure.code}` | {failure.reason} | {failure.remedy} |\n"


def _line(row: Row) -> str:
    codes = ", ".join(f"`{code}`" for code in row.codes)
    return f"| {row.scope} | {row.action} | {row.error_class} | {codes} | {row.remedy} |\n"


if __name__ == "__main__":
    sys.stdout.write(reference())
