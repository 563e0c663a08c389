"""Rows to try routes on: given as JSON, or read from the live table as the stream would show them. Changes nothing."""

from __future__ import annotations

from contextlib import closing
from typing import NamedTuple

from cdc_relay.config.names import quote_identifier
from cdc_relay.errors import AwayError, ConfigError, RefusedError, RelayError, SourceError
from cdc_relay.protocol.messages import Column
from cdc_relay.routing.fields import Values
from cdc_relay.routing.json_text import BadJsonError, plain, scan_object
from cdc_relay.routing.message_plan import CONTENT
from cdc_relay.routing.outbox import Outbox
from cdc_relay.routing.values import JSON_OID, TEXT_OID
from cdc_relay.sources.line import Line, QueryError
from cdc_relay.sources.printed_rows import describe_columns, pin_settings

__all__ = ["Sample", "parse_sample", "read_by_id", "read_last"]

_SECONDS = 60.0  # a table without an index may be long
_EXAMPLE = """--row '{"id": "1", "type": "Placed"}'"""
_OTHERWISE = "give a row with --row JSON"
_NOT_OF_THE_TYPE = "22"  # class: data exceptions, such as a text that is no uuid
_REMEDIES = {
    "42501": f"give the role of source.dsn SELECT on the table and USAGE on its schema; or {_OTHERWISE}",
    "42P01": "correct outboxes[].table, or the database in source.dsn",
    "42703": "correct outboxes[].columns, or add the column to the table",
}


class Sample(NamedTuple):
    columns: tuple[Column, ...]
    row: Values


def parse_sample(text: str, outbox: Outbox) -> Sample:
    """A JSON object whose fields are the columns. A message may be anything: what becomes of it is the question."""
    if outbox.message_prefix is not None:
        return Sample((Column(CONTENT, TEXT_OID, -1, False),), (text.encode("utf-8", "surrogateescape"),))
    try:
        fields = scan_object(text)
        row = tuple(_printed(raw) for raw in fields.values())
    except BadJsonError as exc:
        raise ConfigError(f"--row is no JSON object: {exc}", remedy=f"give a JSON object: {_EXAMPLE}") from exc
    _check_names(list(fields), outbox)
    columns = (Column(name, JSON_OID if raw[:1] in "{[" else TEXT_OID, -1, False) for name, raw in fields.items())
    return Sample(tuple(columns), row)


def _check_names(given: list[str], outbox: Outbox) -> None:
    """A table has every column, NULL or not; a name that nothing asks for may be the misspelt one."""
    missing = [name for name in outbox.columns if name not in given]
    if not missing:
        return
    unused = ", ".join(name for name in given if name not in outbox.columns)
    also = f"; nothing asks for its {unused}" if unused else ""
    raise ConfigError(
        f"--row lacks columns that {outbox.label} needs: {', '.join(missing)}{also}",
        remedy="give each under its name in the table, null for NULL",
    )


def _printed(raw: str) -> bytes | None:
    """As Postgres prints it: a boolean is t or f."""
    return {"true": b"t", "false": b"f"}.get(raw) or plain(raw)


def read_by_id(conninfo: str, outbox: Outbox, event_id: str) -> list[Sample]:
    """Compared as the column's own type, so that its index is used."""
    samples = _read(conninfo, outbox, f"WHERE {quote_identifier(outbox.id_column)} = $1 LIMIT 10", (event_id,))
    if not samples:
        raise RefusedError(f"{outbox.label} has no row with {outbox.id_column} {event_id}", remedy=_OTHERWISE)
    return samples


def read_last(conninfo: str, outbox: Outbox, count: int) -> list[Sample]:
    """By their time where one is mapped, else as they lie in the table: the rows that were written last, as a rule."""
    clause = "ORDER BY tableoid DESC, ctid DESC"
    if outbox.timestamp_column is not None:
        time = quote_identifier(outbox.timestamp_column)
        clause = f"WHERE {time} IS NOT NULL ORDER BY {time} DESC"  # NULLS LAST could use no plain index
    samples = _read(conninfo, outbox, f"{clause} LIMIT {count}", ())
    if not samples:
        raise RefusedError(
            f"{outbox.label} has no rows" + (" with a time" if outbox.timestamp_column else ""), remedy=_OTHERWISE
        )
    return samples


def _read(conninfo: str, outbox: Outbox, clause: str, params: tuple[str, ...]) -> list[Sample]:
    if outbox.message_prefix is not None:
        raise ConfigError(f"{outbox.label}: messages are in the WAL only, not in a table", remedy=_OTHERWISE)
    with closing(Line.open(conninfo)) as line:
        try:
            return _select(line, outbox, clause, params)
        except SourceError as exc:
            raise _explain(exc, outbox, by_id=bool(params)) from exc


def _select(line: Line, outbox: Outbox, clause: str, params: tuple[str, ...]) -> list[Sample]:
    pin_settings(line)
    columns = describe_columns(line, outbox.label)
    names = ", ".join(quote_identifier(column.name) for column in columns)
    rows = line.query_printed(f"SELECT {names} FROM {outbox.label} {clause}", params, timeout_seconds=_SECONDS)
    return [Sample(columns, row) for row in rows]


def _explain(exc: SourceError, outbox: Outbox, *, by_id: bool) -> RelayError:
    if not isinstance(exc, QueryError):
        return AwayError(f"{outbox.label}: {exc.message}", remedy=f"try again; {_OTHERWISE}")
    if by_id and exc.sqlstate.startswith(_NOT_OF_THE_TYPE):
        return ConfigError(f"--id: {exc.message}", remedy=f"give it as column {outbox.id_column} has it")
    return RefusedError(f"{outbox.label}: {exc.message}", remedy=_REMEDIES.get(exc.sqlstate, _OTHERWISE))
