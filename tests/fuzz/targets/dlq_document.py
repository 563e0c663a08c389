"""What `dlq edit` reads: any text is a record's content or a ConfigError; what is accepted can be stored and shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from cdc_relay.errors import ConfigError
from cdc_relay.parking.desk_bytes import size_of
from cdc_relay.parking.desk_document import read_document, write_document
from cdc_relay.parking.desk_row import Content, Named, ParkedRow
from tests.unit.dlq_rows import make_row

__all__ = ["TOKENS", "check", "seeds"]

TOKENS = (
    *(
        b"topic: ",
        b"key: ",
        b"headers:",
        b"columns:",
        b"payload: ",
        b"\n---\n",
        b"- {name: a, value: b}",
        b"null",
        b"base64: ",
    ),
    *(
        b"{base64: /wA=}",
        b"- name: a\n  value: b\n",
        b"  type: 25\n",
        b"  modifier: 7\n",
        b'"\\ud800"',
        b'"\\U00110000"',
    ),
    *(b'"\\0"', b"&a ", b"*a", b"!!str ", b"!!null ", b"%YAML 1.1\n", b"<<: ", b"? ", b"~"),
)

_COLUMN: Named = {"name": "id", "type": 23, "value": "1"}
_ROWS = (
    make_row(),
    make_row(topic=None, columns=[_COLUMN, {"name": "n", "type": 1114, "modifier": 3, "base64": "/wA="}]),
    make_row(key=None, value=None, headers=[]),
    make_row(key=b"\xff", value=b"\0", headers=[{"name": "h", "value": None}], columns=[_COLUMN]),
    make_row(value=b"plain text\n"),
)
_FORCE = 128


def check(data: bytes) -> None:
    """The first byte says which record is edited, and whether by force."""
    flags = data[0] if data else 0
    row = _ROWS[flags % len(_ROWS)]
    try:
        text = data[1:].decode("utf-8-sig")
    except UnicodeDecodeError:
        return  # the command says so
    try:
        content = read_document(text, row, force=flags >= _FORCE)
    except ConfigError as exc:
        str(exc).encode()  # it is printed
        return
    _check_stored(content, row)


def _check_stored(content: Content, row: ParkedRow) -> None:
    assert size_of(content) >= 0
    for parts in (content.headers, content.columns or []):
        text = json.dumps(parts, ensure_ascii=False)
        text.encode()
        assert "\\u0000" not in text.replace("\\\\", "")  # jsonb refuses it
    if content.topic is not None or content.columns is not None:
        stored = replace(row, **{name: getattr(content, name) for name in Content.__slots__})
        assert read_document(write_document(stored), stored) == content


def seeds() -> Iterator[bytes]:
    for place, row in enumerate(_ROWS):
        yield bytes([place]) + write_document(row).encode()
        yield bytes([place + _FORCE - _FORCE % len(_ROWS) + len(_ROWS)]) + write_document(row).encode()
    yield b"\0topic: t\nkey: {base64: /wA=}\nheaders: [{name: a, value: null}]\npayload: 'x'\n"
