"""JSON cut out of text: what the standard library reads is found as it is written, all else is a BadJsonError.

What nobody can tell, because it is too deep or too long, is a HugeJsonError; nothing else is raised.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from cdc_relay.parking.desk_json import flatten, pretty
from cdc_relay.parking.desk_json import is_json as desk_is_json
from cdc_relay.routing.json_text import (
    BadJsonError,
    HugeJsonError,
    check_json,
    find_path,
    plain,
    read_paths,
    scan_object,
)

__all__ = ["TOKENS", "check", "seeds"]

TOKENS = (
    *(b'{"a":', b'"a"', b"true", b"false", b"null", b"NaN", b"Infinity", b"-0", b"1e5", b"\\u0000", b"\\ud800"),
    *(b'"\\', b"[[", b"]]", b"{}", b'{"a":{"b":[1]}}', b"\xc3\xa9", b"\xed\xa0\x80", b"\r\n\t "),
)

_PATHS = (("a",), ("a", "b"), ("a", "0"), ("0",), ("",), ())


def check(data: bytes) -> None:
    try:
        text = check_json(data)
    except BadJsonError:
        assert _reads(data) is False
        _check_refused(data)
    except HugeJsonError:
        return
    else:
        _check_parts(text)
        _check_layout(text)


def _reads(data: bytes) -> bool:
    """As strictly: no constants that are none of JSON's."""
    try:
        json.loads(data.decode(), parse_int=str, parse_float=str, parse_constant=_refuse)
    except ValueError:
        return False
    return True


def _refuse(name: str) -> object:
    raise ValueError(name)


def _load(text: str) -> object:
    """Numbers as they are written: 1.0 is not 1, and digits have no limit."""
    return json.loads(text, parse_int=lambda digits: ("number", digits), parse_float=lambda digits: ("number", digits))


def _check_refused(data: bytes) -> None:
    for read in (scan_object, lambda text: find_path(text, ("a",)), lambda text: read_paths(text, _PATHS)):
        try:
            read(data)
        except BadJsonError:
            continue
        raise AssertionError("found in what is no JSON")


def _check_parts(text: str) -> None:
    whole = _load(text)
    for path, value in zip(_PATHS, read_paths(text, _PATHS), strict=True):
        raw = find_path(text, path)
        assert raw is None or _load(raw) == _follow(whole, path)
        assert value == _plain_or_none(raw)
    if isinstance(whole, dict):
        assert {name: _load(raw) for name, raw in scan_object(text).items()} == whole
    else:
        _check_no_object(text)


def _check_no_object(text: str) -> None:
    try:
        scan_object(text)
    except BadJsonError:
        return
    raise AssertionError("no object has members")


def _plain_or_none(raw: str | None) -> bytes | None:
    """A string that UTF-8 cannot say is nothing to a route."""
    try:
        return None if raw is None else plain(raw)
    except BadJsonError:
        return None


def _follow(value: object, path: tuple[str, ...]) -> object:
    for step in path:
        value = value[int(step)] if isinstance(value, list) else value[step]  # type: ignore[index]  # a dict then
    return value


def _check_layout(text: str) -> None:
    """For the editor, and back: the same values, written alike."""
    assert desk_is_json(text)
    assert _load(pretty(text)) == _load(text) == _load(flatten(text))
    assert flatten(pretty(text)) == flatten(text)


def seeds() -> Iterator[bytes]:
    yield from (
        b"{}",
        b"[]",
        b"null",
        b" 1.10 ",
        b'"\\u00e9\\ud83d\\ude00"',
        b'{"a": {"b": [1, 2.50, true, null, "x"]}}',
    )
    yield from (b'{"a":1,"a":[{"":""}]}', b'["\\"\\\\", -0, 1e400, {"b" : "c"}]', b"[1,]", b'{"a"}', b"NaN", b"\xff")
