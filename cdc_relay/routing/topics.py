"""Which topic names Kafka allows."""

from __future__ import annotations

import re

__all__ = ["LONGEST_TOPIC", "has_illegal_sign", "is_legal_topic"]

LONGEST_TOPIC = 249

_LEGAL = re.compile(r"[A-Za-z0-9._-]*")


def has_illegal_sign(text: str) -> bool:
    return _LEGAL.fullmatch(text) is None


def is_legal_topic(name: str) -> bool:
    return 0 < len(name) <= LONGEST_TOPIC and name not in (".", "..") and not has_illegal_sign(name)
