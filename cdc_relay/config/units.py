"""Durations, sizes, counts and shares between their YAML spelling and plain numbers. Knows no key and no range."""

from __future__ import annotations

import re
from decimal import Decimal

__all__ = [
    "COUNT_PATTERN",
    "DURATION_PATTERN",
    "SHARE_PATTERN",
    "SIZE_PATTERN",
    "format_count",
    "format_duration",
    "format_share",
    "format_size",
    "parse_count",
    "parse_duration",
    "parse_share",
    "parse_size",
]

DURATION_PATTERN = r"[0-9]{1,12}(\.[0-9]{1,350})?(ms|s|m|h|d)"
SIZE_PATTERN = r"(0|[1-9][0-9]{0,17})(KiB|MiB|GiB)?"
COUNT_PATTERN = r"0|[1-9][0-9]{0,17}"
SHARE_PATTERN = r"[0-9]{1,12}(\.[0-9]{1,350})?(e-[0-9]{1,3})?"  # 1e-05 is how YAML writes 0.00001

_SECONDS = {"ms": Decimal("0.001"), "s": Decimal(1), "m": Decimal(60), "h": Decimal(3600), "d": Decimal(86_400)}
_BYTES = {"GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10}


def parse_duration(value: object) -> float:
    """Text needs a unit: a bare 10 would be seconds here and milliseconds in postgresql.conf."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    match = re.fullmatch(DURATION_PATTERN, value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("expected a duration with its unit, such as 500ms, 30s, 5m, 1h or 7d")
    unit = match[2]
    return float(Decimal(match[0].removesuffix(unit)) * _SECONDS[unit])


def format_duration(seconds: float) -> str:
    exact = Decimal(repr(seconds))
    if exact >= 2 * 86_400 and exact % 86_400 == 0:
        return f"{int(exact // 86_400)}d"
    if exact >= 3600 and exact % 3600 == 0:
        return f"{int(exact // 3600)}h"
    if exact >= 120 and exact % 60 == 0:
        return f"{int(exact // 60)}m"
    if exact % 1 == 0:
        return f"{int(exact)}s"
    milliseconds = exact * 1000
    return f"{int(milliseconds)}ms" if milliseconds % 1 == 0 else f"{exact:f}s"


def parse_size(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    match = re.fullmatch(SIZE_PATTERN, value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("expected a size such as 64KiB, 32MiB or 1GiB, or a whole number of bytes")
    return int(match[1]) * _BYTES.get(match[2], 1)


def format_size(size_bytes: int) -> str:
    for unit, factor in _BYTES.items():
        if size_bytes >= factor and size_bytes % factor == 0:
            return f"{size_bytes // factor}{unit}"
    return str(size_bytes)


def parse_count(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if not isinstance(value, str) or re.fullmatch(COUNT_PATTERN, value) is None:
        raise ValueError("expected a whole number without a unit, such as 12")
    return int(value)


def format_count(count: int) -> str:
    return str(count)


def parse_share(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, str) or re.fullmatch(SHARE_PATTERN, value) is None:
        raise ValueError("expected a share, such as 0.1")
    return float(value)


def format_share(share: float) -> str:
    return f"{Decimal(repr(share)):f}".removesuffix(".0")
