"""Payloads as parts of JSON, also large ones."""

from __future__ import annotations

import json
import tracemalloc

import pytest

from cdc_relay.routing.payloads import bind_pieces, check_utf_8, quote_pieces
from cdc_relay.routing.values import compile_value
from tests.golden.corpus import CASES, Case
from tests.unit.envelope_rows import JSONB, TEXT

MIB = 1 << 20


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_pieces_are_what_the_type_s_text_is(case: Case) -> None:
    assert b"".join(bind_pieces(case.type_oid)(case.printed)) == compile_value(case.type_oid)(case.printed).encode()


@pytest.mark.parametrize("shift", range(5))
def test_characters_on_the_border_of_two_pieces_stay_whole(shift: int) -> None:
    text = "a" * shift + '😀"é\\\n' * (MIB // 4)
    assert json.loads(b"".join(quote_pieces(text.encode()))) == text
    assert check_utf_8(text.encode()) == text.encode()


@pytest.mark.parametrize("end", [b"\xff", b"\xf0\x9f"])
@pytest.mark.parametrize("size", [1, 2 * MIB])
def test_bytes_that_are_not_utf_8_are_found_at_any_place(end: bytes, size: int) -> None:
    for pieces in (bind_pieces(TEXT), bind_pieces(JSONB)):
        with pytest.raises(ValueError, match="utf-8"):
            pieces(b"x" * size + end)


@pytest.mark.parametrize("type_oid", [TEXT, JSONB])
def test_a_large_payload_is_in_memory_once_more_and_not_four_times(type_oid: int) -> None:
    payload = ("😀" + "x" * (MIB - 4)).encode() * 16
    tracemalloc.start()
    try:
        bind_pieces(type_oid)(payload)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < len(payload) + 12 * MIB
