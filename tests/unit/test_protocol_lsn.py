from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cdc_relay.errors import DecodeError
from cdc_relay.protocol.lsn import format_lsn, parse_lsn


def test_lsn_reads_as_postgres_prints_it() -> None:
    assert parse_lsn("16/B374D848") == 0x16_B374D848
    assert format_lsn(0x16_B374D848) == "16/B374D848"
    assert format_lsn(0) == "0/0"
    assert parse_lsn("0/0000000a") == 10  # newer servers pad the second half


@settings(deadline=None)
@given(st.integers(0, 2**64 - 1))
def test_every_lsn_survives_its_text_form(lsn: int) -> None:
    assert parse_lsn(format_lsn(lsn)) == lsn


@pytest.mark.parametrize(
    "text", ["", "0", "/", "1/", "/1", "0/0/0", "123456789/0", "0/G", " 0/0", "0/0\n", "-1/0", "٣/0"]
)
def test_text_that_is_no_lsn_is_refused(text: str) -> None:
    with pytest.raises(DecodeError, match="LSN"):
        parse_lsn(text)


def test_a_refusal_shows_an_example_and_no_more_than_a_line_of_what_was_found() -> None:
    with pytest.raises(DecodeError) as refusal:
        parse_lsn("x" * 100)
    shown = "x" * 40
    assert str(refusal.value) == f"LSN: expected two hexadecimal numbers like 16/B374D848, found '{shown}'"


@settings(deadline=None)
@given(st.text())
@example("0x1/0x2")
@example("1_0/0")
def test_any_text_is_an_lsn_or_a_decode_error(text: str) -> None:
    with suppress(DecodeError):
        assert 0 <= parse_lsn(text) < 2**64
