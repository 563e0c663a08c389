"""The hot path, compiled: twins of pure Python modules that stay the reference, the fallback, and what is read first.

They know what their twins know, lane delivery and copy_data psycopg, which no import rule can see.
Built by setup.py where there is a C compiler; without one, or with CDC_RELAY_NATIVE=0, Python does the same work.
"""

from __future__ import annotations

import os
from importlib.util import find_spec

__all__ = ["is_native"]


_MODULES = (
    "copy_data",
    "events",
    "followers",
    "header_stock",
    "lane",
    "ledger",
    "metadata",
    "producer",
    "rdkafka",
    "reports",
)


def _are_there() -> bool:
    """All of them: they work on each other's fields."""
    return os.environ.get("CDC_RELAY_NATIVE", "1") != "0" and all(find_spec(f"{__name__}.{name}") for name in _MODULES)


is_native = _are_there()
