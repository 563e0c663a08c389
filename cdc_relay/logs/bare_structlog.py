"""Imports structlog for the first time, without rich: a start takes 30 ms and 4 MB less.

structlog takes rich, if there is one, to draw tracebacks. Our lines have none (`shape` says what is said of an
exception), and the commands that draw with rich import it themselves.
"""

from __future__ import annotations

import sys

__all__: list[str] = []


def _import_bare() -> None:
    if "rich" in sys.modules or "structlog" in sys.modules:
        return
    sys.modules["rich"] = None  # type: ignore[assignment]  # how Python spells: there is no such module
    try:
        import structlog  # noqa: F401 - for its effect
    finally:
        del sys.modules["rich"]


_import_bare()
