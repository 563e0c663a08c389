"""JSON as text: its parts exactly as they are written, and one kind of error for everything else."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cdc_relay.routing import json_text
from cdc_relay.routing.json_text import (
    LONGEST_BYTES,
    BadJsonError,
    HugeJsonError,
    check_json,
    find_path,
    is_json,
    plain,
    quote,
    read_paths,
    scan_object,
)

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
DOCUMENTS = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12
)
OBJECTS = st.dictionaries(st.text(), DOCUMENTS, max_size=5)
INDENTS = st.sampled_from([None, 0, 2, "\t", "\r\n "])
ALPHABET = st.text(st.sampled_from('{}[],:"\\ \n0123-.eEutrfalsn\ud800é'), max_size=30)

BAD = [
    b"",
    b" ",
    b"{",
    b"{}x",
    b"{} {}",
    b'{"a":1,}',
    b"[1,]",
    b"{,}",
    b'{"a"}',
    b'{"a":}',
    b'{"a" 1}',
    b"{1:2}",
    b"{'a':1}",
    b"[1 2]",
    b'["a":1]',
    b'{"a":1]',
    b"NaN",
    b"[NaN]",
    b'{"a":Infinity}',
    b"-Infinity",
    b"01",
    b"1.",
    b".5",
    b"+1",
    b"-",
    b"1e",
    b"0x1",
    b"tru",
    b"True",
    b'"\n"',
    b'"\x00"',
    b'"\\x41"',
    b'"\\u12"',
    b'"open',
    b"\xef\xbb\xbf1",
    b"\xff",
    b'"\xff"',
    b'"\xed\xa0\x80"',  # a surrogate in UTF-8
    b"\xc2\xa01",
    b"// no\n1",
]


def read_path(text: bytes | str, path: Sequence[str]) -> bytes | None:
    [found] = read_paths(text, [path])
    return found


def outcome(function: Callable[..., object], *arguments: object) -> object:
    try:
        return function(*arguments)
    except BadJsonError:
        return BadJsonError


# --- validity


@pytest.mark.parametrize("text", BAD, ids=lambda text: repr(text[:12]))
def test_what_is_not_json_is_refused_by_every_function(text: bytes) -> None:
    assert not is_json(text)
    assert outcome(scan_object, text) is BadJsonError
    assert outcome(check_json, text) is BadJsonError
    assert outcome(find_path, text, ("a",)) is BadJsonError
    assert outcome(read_path, text, ("a",)) is BadJsonError


@pytest.mark.parametrize("text", [b"1" * 5000, b"-0", b"1E+400", b'"\\ud800"', b" \t\r\n[ ] ", b'{"a":1,"a":2}'])
def test_what_python_cannot_hold_is_json_all_the_same(text: bytes) -> None:
    assert is_json(text)
    assert check_json(text) == text.decode()


@given(ALPHABET)
@example('{"a":[1.0,"\\ud83d\\ude00"]}')
@example("[[],[]]")
def test_validity_is_that_of_a_strict_parser(text: str) -> None:
    def refuse(name: str) -> None:
        raise ValueError(name)

    try:
        json.loads(text, parse_int=str, parse_float=str, parse_constant=refuse)
    except ValueError:
        assert not is_json(text)
    else:
        assert is_json(text)


@given(st.binary(max_size=40) | ALPHABET, st.lists(st.sampled_from(["a", "0", "", "é"]), max_size=3))
def test_garbage_is_understood_or_a_bad_json_error(text: bytes | str, path: list[str]) -> None:
    outcome(plain, text if isinstance(text, str) else text.decode("latin-1"))
    outcome(scan_object, text)
    found, read = outcome(find_path, text, path), outcome(read_path, text, path)
    assert found is not BadJsonError or read is BadJsonError


@pytest.mark.parametrize("read", [check_json, scan_object, is_json, lambda text: find_path(text, ("a",))])
def test_what_would_take_too_long_is_not_read_at_all(read: Callable[[bytes], object]) -> None:
    read(b'{"a":"' + b"x" * (LONGEST_BYTES - 8) + b'"}')
    with pytest.raises(HugeJsonError):
        read(b'{"a":"' + b"x" * (LONGEST_BYTES - 7) + b'"}')


@pytest.mark.parametrize("text", [b"[" * 100_000, b'{"a":' * 100_000, b"[" * 100_000 + b"]" * 100_000])
def test_what_is_nested_too_deeply_is_not_called_bad(text: bytes) -> None:
    for read in (is_json, check_json, lambda text: find_path(text, ("a",)), lambda text: read_path(text, ("a",))):
        with pytest.raises(HugeJsonError):
            read(text)


def test_a_document_is_scanned_once_and_once_more_for_a_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    scanned = []

    def scan(text: str, at: int) -> tuple[object, int]:
        scanned.append(text[at : at + 1])
        return real(text, at)

    real = json_text._scan
    monkeypatch.setattr(json_text, "_scan", scan)
    text = b'{"flag":true,"name":"x","n":1,"part":{"a":[1,2]}}'
    assert read_paths(text, [("flag",), ("name",), ("n",), ("absent",)]) == (b"true", b"x", b"1", None)
    assert scanned == ["{"]
    assert read_paths(text, [("part",)]) == (b'{"a":[1,2]}',)
    assert scanned.count("{") == 3  # the document twice, the part among its members once


# --- parts as they are written


@given(OBJECTS, INDENTS, st.booleans())
def test_the_fields_of_an_object_are_those_that_a_parser_finds(
    document: dict[str, Any], indent: Any, ascii_: bool
) -> None:
    text = json.dumps(document, indent=indent, ensure_ascii=ascii_)
    fields = scan_object(f" {text}\n")
    assert {name: json.loads(raw) for name, raw in fields.items()} == json.loads(text)
    assert all(raw in text and raw == raw.strip() for raw in fields.values())


def test_values_stay_exactly_as_they_are_written() -> None:
    text = b'{ "n" : 1.0 , "big":123456789012345678901234567890, "e":1E5, "o":{"a":1, "a" : 2}, "s":"\\u00e9\xc3\xa9" }'
    assert scan_object(text) == {
        "n": "1.0",
        "big": "123456789012345678901234567890",
        "e": "1E5",
        "o": '{"a":1, "a" : 2}',
        "s": '"\\u00e9é"',
    }


def test_of_a_repeated_name_the_last_value_counts() -> None:
    assert scan_object(b'{"a":1,"b":2,"\\u0061":3}') == {"a": "3", "b": "2"}
    assert find_path(b'{"a":{"x":1},"a":{"y":2}}', ("a", "x")) is None


@pytest.mark.parametrize("text", [b"[]", b"1", b"null", b'"{}"'])
def test_only_an_object_has_fields(text: bytes) -> None:
    with pytest.raises(BadJsonError):
        scan_object(text)


# --- paths


@pytest.mark.parametrize(
    ("path", "raw"),
    [
        ((), '{"customer": {"id": 12345678901234567890, "tags": ["a", {"b": null}]}, "0": 1.0}'),
        (("customer", "id"), "12345678901234567890"),
        (("customer", "tags"), '["a", {"b": null}]'),
        (("customer", "tags", "0"), '"a"'),
        (("customer", "tags", "1", "b"), "null"),
        (("0",), "1.0"),
        (("customer", "tags", "2"), None),
        (("customer", "tags", "-1"), None),
        (("customer", "tags", "²"), None),
        (("customer", "tags", "9" * 5000), None),
        (("customer", "id", "x"), None),
        (("nobody", "id"), None),
    ],
)
def test_a_path_finds_the_text_at_its_place_or_nothing(path: tuple[str, ...], raw: str | None) -> None:
    text = b' {"customer": {"id": 12345678901234567890, "tags": ["a", {"b": null}]}, "0": 1.0} '
    assert find_path(text, path) == raw
    assert read_path(text, path) == (None if raw is None else plain(raw))


@given(DOCUMENTS, st.data())
def test_paths_lead_where_a_parser_would_go(document: Any, data: st.DataObject) -> None:
    path, value = [], document
    while isinstance(value, (dict, list)) and value and data.draw(st.booleans()):
        step = data.draw(st.sampled_from(list(value) if isinstance(value, dict) else range(len(value))))
        path.append(str(step))
        value = value[step]
    raw = find_path(json.dumps(document), path)
    assert raw is not None
    assert json.loads(raw) == value
    assert read_path(json.dumps(document), path) == plain(raw)


@given(DOCUMENTS, st.lists(st.lists(st.sampled_from(["a", "0", "", "é"]), max_size=3), max_size=4))
def test_several_paths_are_read_like_each_alone(document: Any, paths: list[list[str]]) -> None:
    text = json.dumps(document)
    assert read_paths(text, paths) == tuple(read_path(text, path) for path in paths)


# --- plain values


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("null", None),
        ('"null"', b"null"),
        ('""', b""),
        ('"a\\n\\"\\u00e9\\ud83d\\ude00"', 'a\n"é😀'.encode()),
        ("1.0", b"1.0"),
        ("true", b"true"),
        ('{"a": 1.0}', b'{"a": 1.0}'),
        ("[ ]", b"[ ]"),
    ],
)
def test_plain_is_a_string_s_content_and_the_text_of_all_else(raw: str, value: bytes | None) -> None:
    assert plain(raw) == value


def test_half_a_surrogate_pair_cannot_leave_json() -> None:
    with pytest.raises(BadJsonError):
        plain('"\\ud800"')
    assert read_paths(b'{"a":"\\ud800","b":1}', [("a",), ("b",)]) == (None, b"1")


@given(st.text())
def test_quoting_and_plain_are_opposites(text: str) -> None:
    assert json.loads(quote(text)) == text
    assert outcome(plain, quote(text)) == outcome(_encode, text)


def _encode(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise BadJsonError from None
