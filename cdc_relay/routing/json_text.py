"""JSON as text: where its parts begin and end, exactly as they are written. Prints nothing again, makes no numbers.

The scanner is the C one of the standard library: strict JSON once it is told to refuse NaN and Infinity and to leave
digits alone (an int of 5,000 digits is an error in Python). orjson is twice as fast, but refuses `"\\ud800"`, which is
a json to Postgres. Whatever is wrong is a BadJsonError, what is too much for us a HugeJsonError, and nothing else is
ever raised.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from json import JSONDecoder
from json.encoder import encode_basestring
from typing import cast

from cdc_relay.routing.json_depth import is_too_deep

__all__ = [
    "LONGEST_BYTES",
    "BadJsonError",
    "HugeJsonError",
    "check_json",
    "find_path",
    "is_json",
    "plain",
    "quote",
    "read_paths",
    "scan_object",
]

# A text of nothing but brackets takes 0.15 s and 30 MB per MB, each time: beyond this Postgres might hang up meanwhile.
LONGEST_BYTES = 8 << 20


class BadJsonError(ValueError):
    """Not JSON, not UTF-8, or not the kind of JSON that was asked for."""


class HugeJsonError(Exception):
    """Longer than LONGEST_BYTES, or nested deeper than DEEPEST_LEVELS: nobody knows whether it is JSON."""


def _refuse_constant(name: str) -> object:
    raise BadJsonError(f"{name} is no JSON")


_Scan = Callable[[str, int], tuple[object, int]]  # the value that begins there, and where it ends
# Numbers stay text, so that a value is a str, a bool, None, a dict or a list.
_DECODER = JSONDecoder(parse_int=str, parse_float=str, parse_constant=_refuse_constant)
_scan = cast("_Scan", _DECODER.scan_once)  # type: ignore[attr-defined]  # typeshed does not know it

_SPACE = " \t\n\r"
_skip_space = re.compile(r"[ \t\n\r]*").match
_colon = re.compile(r"[ \t\n\r]*:[ \t\n\r]*").match
_comma_or_end = re.compile(r"[ \t\n\r]*(?:,[ \t\n\r]*(?![\]}])|(?=[\]}]))").match  # the end is left to be seen
_PLACE = re.compile(r"[0-9]{1,9}")

quote: Callable[[str], str] = encode_basestring  # a JSON string; what is not ASCII stays as it is


def is_json(text: bytes | str) -> bool:
    try:
        check_json(text)
    except BadJsonError:
        return False
    return True


def check_json(text: bytes | str) -> str:
    """The text, decoded, if it is one JSON value and nothing else. 2 us for 300 bytes."""
    decoded = _decode(text)
    _read(decoded)
    return decoded


def scan_object(text: bytes | str) -> dict[str, str]:
    """The fields of a JSON object and the text of each value; of a repeated name the last. 1.6 us per field."""
    decoded = _decode(text).strip(_SPACE)
    if decoded[:1] != "{":
        raise BadJsonError("no JSON object")
    return _members(decoded)


def find_path(text: bytes | str, path: Sequence[str]) -> str | None:
    """The text of the value at `path`: names, or numbers for the places of an array. None: there is no such place."""
    return _walk(check_json(text).strip(_SPACE), path)


def _walk(raw: str | None, path: Sequence[str]) -> str | None:
    for step in path:
        if raw is None:
            return None
        raw = _step(raw, step)
    return raw


def read_paths(text: bytes | str, paths: Iterable[Sequence[str]]) -> tuple[bytes | None, ...]:
    """`plain` of what `find_path` finds, None for both kinds of nothing. Scalars take a quarter of the time."""
    decoded = _decode(text)
    document = _read(decoded)
    return tuple(_read_path(document, decoded, path) for path in paths)


def _read_path(document: object, text: str, path: Sequence[str]) -> bytes | None:
    value = document
    for step in path:
        value = _part(value, step)
    if isinstance(value, bool):
        return b"true" if value else b"false"
    raw = value if isinstance(value, str | None) else _walk(text.strip(_SPACE), path)  # a number is a str here
    try:
        return None if raw is None else _encode(raw)
    except BadJsonError:  # of this string alone
        return None


def plain(raw: str) -> bytes | None:
    """A value's text for keys, headers and topics: a string's content, None for null, all else as it is written."""
    if raw == "null":
        return None
    return _encode(cast("str", _read(raw)) if raw[:1] == '"' else raw)


def _step(raw: str, step: str) -> str | None:
    if raw[:1] == "{":
        return _members(raw).get(step)
    if raw[:1] == "[" and _PLACE.fullmatch(step):
        return dict(enumerate(_elements(raw))).get(int(step))
    return None


def _part(value: object, step: str) -> object:
    if isinstance(value, dict):
        return value.get(step)
    if isinstance(value, list) and _PLACE.fullmatch(step) and int(step) < len(value):
        return value[int(step)]
    return None


def _members(text: str) -> dict[str, str]:
    members: dict[str, str] = {}
    at = _after(_skip_space(text, 1))
    while text[at : at + 1] == '"':
        name, at = _value(text, at)
        at = _after(_colon(text, at))
        end = _value(text, at)[1]
        members[cast("str", name)] = text[at:end]
        at = _after(_comma_or_end(text, end))
    _expect(text[at:] == "}")
    return members


def _elements(text: str) -> list[str]:
    elements: list[str] = []
    at = _after(_skip_space(text, 1))
    while text[at : at + 1] != "]":
        end = _value(text, at)[1]
        elements.append(text[at:end])
        at = _after(_comma_or_end(text, end))
    _expect(text[at:] == "]")
    return elements


def _read(text: str) -> object:
    """The one value that the text is: numbers as text, all else as Python has it."""
    value, end = _value(text, _after(_skip_space(text, 0)))
    _expect(not text[end:].strip(_SPACE))
    return value


def _value(text: str, at: int) -> tuple[object, int]:
    try:
        return _scan(text, at)
    except (ValueError, StopIteration) as exc:
        raise BadJsonError("no JSON value") from exc
    except RecursionError as exc:  # by a caller that is deep down itself
        raise HugeJsonError from exc


def _after(match: re.Match[str] | None) -> int:
    if match is None:
        raise BadJsonError("a sign is missing")
    return match.end()


def _expect(holds: bool) -> None:
    if not holds:
        raise BadJsonError("a sign too many")


def _decode(text: bytes | str) -> str:
    if len(text) > LONGEST_BYTES:
        raise HugeJsonError
    try:
        decoded = text if isinstance(text, str) else text.decode()
    except UnicodeDecodeError as exc:
        raise BadJsonError("not UTF-8") from exc
    if is_too_deep(decoded):
        raise HugeJsonError
    return decoded


def _encode(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as exc:  # half a surrogate pair is a character to JSON alone
        raise BadJsonError("a string that UTF-8 cannot say") from exc
