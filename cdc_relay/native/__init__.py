"""The hot path, compiled: twins of pure Python modules that stay the reference, the fallback, and what is read first.

Built by setup.py where there is a C compiler; without one, or with CDC_RELAY_NATIVE=0, Python does the same work.
"""

from __future__ import annotations

import os
from importlib.util import find_spec

__all__ = ["is_native"]


def _is_there() -> bool:
    return os.environ.get("CDC_RELAY_NATIVE", "1") != "0" and find_spec(f"{__name__}.lane") is not None


is_native = _is_there()
