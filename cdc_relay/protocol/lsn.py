"""WAL positions. Inside the relay an LSN is a plain int; this module owns the text form and nothing else."""

from __future__ import annotations

import re

from cdc_relay.errors import DecodeError

__all__ = ["format_lsn", "parse_lsn"]

_TEXT_FORM = re.compile(r"([0-9A-Fa-f]{1,8})/([0-9A-Fa-f]{1,8})")


def parse_lsn(text: str) -> int:
    match = _TEXT_FORM.fullmatch(text)
    if match is None:
        raise DecodeError(f"LSN: expected two hexadecimal numbers like 16/B374D848, found {text[:40]!r}")
    return int(match[1], 16) << 32 | int(match[2], 16)


def format_lsn(lsn: int) -> str:
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"
