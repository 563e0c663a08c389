"""Postgres array literals such as `{{1,NULL},{"a \\"b\\"",3}}` as JSON arrays. Knows no types but those of elements."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from cdc_relay.routing.json_text import is_json, quote

__all__ = ["ELEMENT_OIDS", "array_renderer"]

ELEMENT_OIDS: Mapping[int, int] = {
    1000: 16,  # bool
    1001: 17,  # bytea
    1002: 18,  # "char"
    1003: 19,  # name
    1016: 20,  # int8
    1005: 21,  # int2
    1007: 23,  # int4
    1009: 25,  # text
    1028: 26,  # oid
    199: 114,  # json
    1021: 700,  # float4
    1022: 701,  # float8
    1014: 1042,  # char(n)
    1015: 1043,  # varchar
    1182: 1082,  # date
    1183: 1083,  # time
    1115: 1114,  # timestamp
    1185: 1184,  # timestamptz
    1187: 1186,  # interval
    1270: 1266,  # timetz
    1231: 1700,  # numeric
    2951: 2950,  # uuid
    3807: 3802,  # jsonb
}

_BOUNDS = re.compile(r"(?:\[-?[0-9]+:-?[0-9]+\])+=")  # of an array that does not begin at 1: JSON cannot say it
_TOKEN = re.compile(r'([{},])|"([^"\\]*(?:\\.[^"\\]*)*)"|((?:[^{},"\\]|\\.)+)', re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_BRACKETS = {"{": "[", "}": "]", ",": ","}


def array_renderer(element: Callable[[str], str]) -> Callable[[str], str]:
    """What is no array literal becomes a JSON string as printed."""

    def render(printed: str) -> str:
        bounds = _BOUNDS.match(printed)
        text = _render_tokens(printed if bounds is None else printed[bounds.end() :], element)
        return text if text[:1] == "[" and is_json(text) else quote(printed)

    return render


def _render_tokens(literal: str, element: Callable[[str], str]) -> str:
    pieces: list[str] = []
    at = 0
    while at < len(literal):
        token = _TOKEN.match(literal, at)
        if token is None:
            return ""
        pieces.append(_render_token(token, element))
        at = token.end()
    return "".join(pieces)


def _render_token(token: re.Match[str], element: Callable[[str], str]) -> str:
    sign, quoted, bare = token.groups()
    if sign is not None:
        return _BRACKETS[sign]
    if quoted is not None:
        return element(_ESCAPED.sub(r"\1", quoted))
    return "null" if bare == "NULL" else element(bare)
