"""The text in which a record is edited, and the lines of an export: what goes out comes back."""

from __future__ import annotations

import base64
import json
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cdc_relay.errors import ConfigError
from cdc_relay.parking.desk_bytes import decode, encode, size_of
from cdc_relay.parking.desk_document import read_document, write_document
from cdc_relay.parking.desk_lines import from_line, to_line
from cdc_relay.parking.desk_row import Content
from tests.unit.dlq_rows import make_row

STORED = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))  # what jsonb can hold
BYTES = st.none() | st.binary() | STORED.map(str.encode)
NAMED = st.fixed_dictionaries({"name": STORED, "value": st.none() | STORED}) | st.fixed_dictionaries(
    {"name": STORED, "base64": st.binary().map(lambda data: base64.b64encode(data).decode())}
)
COLUMNS = st.lists(
    NAMED.flatmap(lambda part: st.just({**part, "type": 25})), max_size=3, unique_by=lambda part: str(part["name"])
)


@given(BYTES, BYTES, st.lists(NAMED, max_size=3))
@example(b"null", b"---\n", [])
@example(b"", b"", [])
@example(b"~", b"payload: null\n\n", [{"name": "h", "value": "~"}])
@example(b"1_0", b'{"a" :1.10}\r\n', [{"name": "yes", "value": "0x10"}])
def test_a_document_that_is_left_as_it_is_is_the_same_record(
    key: bytes | None, value: bytes | None, headers: list[Any]
) -> None:
    row = make_row(key=key, value=value, headers=headers)
    document = write_document(row)
    assert read_document(document, row) == row.content
    assert all(line.replace("\t", "").isprintable() for line in document.split("\n"))


@given(BYTES, COLUMNS)
def test_so_is_that_of_a_row_to_be_routed_again(value: bytes | None, columns: list[Any]) -> None:
    row = make_row(topic=None, value=value, columns=columns)
    assert read_document(write_document(row), row) == row.content


def test_the_columns_of_a_record_that_has_its_topic_are_left_alone() -> None:
    row = make_row(columns=[{"name": "n", "type": 25, "value": "x"}])
    document = write_document(row)
    assert "columns" not in document
    assert read_document(document.replace("v1", "v2"), row).columns == row.columns
    assert size_of(row.content) == len(b'4711{"total": 1.10}ide1')


@given(BYTES)
def test_bytes_in_json_lose_nothing(data: bytes | None) -> None:
    assert decode(json.loads(json.dumps(encode(data)))) == data


@given(BYTES, BYTES, st.lists(NAMED, max_size=3), st.none() | COLUMNS, st.none() | STORED)
def test_a_line_of_an_export_loses_nothing(
    key: bytes | None, value: bytes | None, headers: list[Any], columns: list[Any] | None, text: str | None
) -> None:
    row = make_row(key=key, value=value, headers=headers, columns=columns, tenant=text, edits=[{"at": "x"}])
    line = to_line(row)
    assert "\n" not in line
    stored = {name: cell for name, cell in asdict(row).items() if name not in ("is_being_published", "read_at")}
    assert from_line(line) == stored


@given(st.text() | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps))
def test_garbage_is_no_document_and_no_line(text: str) -> None:
    with pytest.raises(ConfigError):
        read_document(text, make_row())
    with pytest.raises(ValueError, match=r"\w"):
        from_line(text)


ODD_KEYS = ["!!timestamp x", "!!int x", "!!python/name:os.system", "*a", "[" * 20_000, "{[a]: b}", r'"\UFFFFFFFF"']


@pytest.mark.parametrize("key", [*ODD_KEYS, r'"\U00110000"', r'"\ud800"'])
def test_yaml_that_is_more_than_text_is_refused(key: str) -> None:
    with pytest.raises(ConfigError):
        read_document(f"topic: t\nkey: {key}\nheaders: []\n---\n{{}}", make_row())


def test_a_document_that_names_itself_many_times_is_refused_at_once() -> None:
    """Eleven levels of ten would be a name of a hundred gigabytes."""
    levels = "\n".join(f"  - &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 12))
    bomb = f"topic: t\nkey: null\nheaders:\n  - &a0 [x]\n{levels}\n  - {{name: *a11, value: x}}\n---\n{{}}"
    with pytest.raises(ConfigError, match="line 5: aliases"):
        read_document(bomb, make_row())


def test_a_version_of_more_digits_than_python_counts_is_refused() -> None:
    with pytest.raises(ConfigError, match="line 1: found a number"):
        read_document(f"%YAML 1.{'9' * 5000}\ntopic: t\nkey: k\nheaders: []\npayload: x\n", make_row())


@pytest.mark.parametrize("columns", [{}, {"topic": None, "columns": [{"name": "id", "type": 25, "value": "1"}]}])
def test_a_name_that_utf_8_cannot_say_is_refused(columns: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="not UTF-8"):
        edited("name: id", r'name: "\ud800"', **columns)
    line = to_line(make_row(headers=[{"name": "\ud800", "value": "x"}], **columns))
    with pytest.raises(ValueError, match="headers: it is not UTF-8"):
        from_line(line)


def edited(old: str, new: str, *, force: bool = False, **columns: Any) -> Content:
    row = make_row(**columns)
    document = write_document(row)
    assert old in document
    return read_document(document.replace(old, new), row, force=force)


def test_json_that_was_changed_is_on_one_line_again_with_its_numbers() -> None:
    assert edited("1.10", "2.20").value == b'{"total": 2.20}'


def test_text_that_is_no_json_stays_as_it_was_typed() -> None:
    assert edited("old", "new\n  lines\n", value=b"old").value == b"new\n  lines\n"


def test_a_key_that_looks_like_a_number_stays_text() -> None:
    assert edited("'4711'", "0047").key == b"0047"
    assert edited("'4711'", "no").key == b"no"
    assert edited("'4711'", "null").key is None
    assert edited("'4711'", "{base64: /wA=}").key == b"\xff\x00"


def test_line_ends_of_another_system_are_taken_for_ours() -> None:
    row = make_row()
    assert read_document(write_document(row).replace("\n", "\r\n"), row) == row.content


def test_json_may_be_broken_by_force_only() -> None:
    with pytest.raises(ConfigError, match="was JSON and would be no more"):
        edited("1.10", "one")
    with pytest.raises(ConfigError, match="it is not text"):
        edited('---\n{\n  "total": 1.10\n}\n', "payload: null\n")
    assert edited('---\n{\n  "total": 1.10\n}\n', "payload: null\n", force=True).value is None


def test_the_size_is_what_the_limits_count() -> None:
    assert (
        size_of(Content("t", b"12", [{"name": "ab", "value": "c"}, {"name": "d", "base64": "/wA="}], b"123", None))
        == 11
    )
    assert size_of(Content(None, b"12", [], b"123", [{"name": "ab", "type": 25, "value": "c"}])) == 1
