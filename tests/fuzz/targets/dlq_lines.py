"""What `dlq import` reads: any file is rows or a ConfigError with its line; what is accepted can be stored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import BytesIO

from cdc_relay.cli.dlq_transfer import _rows
from cdc_relay.errors import ConfigError
from cdc_relay.parking.desk_lines import to_line
from cdc_relay.parking.values import read_columns, read_headers
from tests.unit.dlq_rows import make_row

__all__ = ["TOKENS", "check", "seeds"]

TOKENS = (
    *(
        b'"id": ',
        b'"key": ',
        b'"headers": ',
        b'"columns": ',
        b'"edits": ',
        b'"value": ',
        b'"topic": ',
        b'{"base64": "/wA="}',
    ),
    *(
        b'{"name": "a", "value": "b"}',
        b'{"name": "a", "type": 25, "value": null}',
        b'"modifier": 3',
        b"null",
        b"true",
        b"1e400",
    ),
    *(b'"\\ud800"', b'"\\u0000"', b"NaN", b"[{}]", b"9" * 30, b'"run_row": '),
)


def check(data: bytes) -> None:
    try:
        rows = list(_rows(BytesIO(data)))
    except ConfigError as exc:
        str(exc).encode()  # it is printed
        return
    for _, row in rows:
        _check_stored(row)


def _check_stored(row: dict[str, object]) -> None:
    """As the relay reads it back when it publishes the record."""
    assert all(value.encode() is not None for value in row.values() if isinstance(value, str))
    read_headers(json.dumps(row["headers"]).encode())
    if row["columns"] is not None:
        read_columns(json.dumps(row["columns"]).encode())


def seeds() -> Iterator[bytes]:
    column = {"name": "n", "type": 25, "modifier": 3, "base64": "/wA="}
    rows = (make_row(), make_row(key=b"\xff", value=None, columns=[column], edits=[{"at": "x"}]), make_row(topic=None))
    yield "\n".join(to_line(row) for row in rows).encode()
    yield from (to_line(row).encode() for row in rows)
