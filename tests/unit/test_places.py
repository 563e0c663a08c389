"""Places inside JSON columns: a document is parsed once per row, however many fields look into it."""

from __future__ import annotations

import pytest

from cdc_relay.protocol.messages import Column
from cdc_relay.routing import places as places_module
from cdc_relay.routing.fields import Field
from cdc_relay.routing.json_text import LONGEST_BYTES, HugeJsonError
from cdc_relay.routing.places import Places

COLUMNS = (Column("id", 25, -1, True), Column("payload", 3802, -1, False), Column("more", 114, -1, False))
FIELDS = [Field.parse(name) for name in ("payload.a", "payload.b.0", "more.a", "id")]


def read_all(places: Places, *row: bytes | None) -> list[bytes | None]:
    return [places.reader(field)(row) for field in FIELDS]


def test_fields_of_several_columns_and_rows() -> None:
    places = Places(COLUMNS)
    assert read_all(places, b"1", b'{"a":1.0,"b":["x"]}', b'{"a":"y"}') == [b"1.0", b"x", b"y", b"1"]
    assert read_all(places, b"2", b'{"a":2}', None) == [b"2", None, None, b"2"]
    assert read_all(places, b"3", b"no JSON", b"null") == [None, None, None, b"3"]
    assert read_all(places, b"4", b'{"a":2}', b'{"a":3}') == [b"2", None, b"3", b"4"]


def test_a_document_is_parsed_once_per_row(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = []

    def read_paths(text: bytes, paths: list[tuple[str, ...]]) -> tuple[None, ...]:
        parsed.append(text)
        return (None,) * len(paths)

    monkeypatch.setattr(places_module, "read_paths", read_paths)
    readers = [places.reader(field) for places in [Places(COLUMNS)] for field in FIELDS]
    for row in [(b"1", b"{}", b"[]"), (b"2", b"{ }", None)]:
        for read in readers:
            read(row)
    assert parsed == [b"{}", b"[]", b"{ }"]


def test_a_document_that_would_take_too_long_is_no_null() -> None:
    read = Places(COLUMNS).reader(FIELDS[0])
    with pytest.raises(HugeJsonError):
        read((b"1", b" " * (LONGEST_BYTES + 1), None))
