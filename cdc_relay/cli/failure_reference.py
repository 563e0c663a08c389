"""The table of docs/failures.md as text, from the table itself: python -m cdc_relay.cli.failure_reference."""

from __future__ import annotations

import sys

from cdc_relay.delivery.failures import TABLE, Row

__all__ = ["reference"]

_HEAD = """| scope | action | class | codes | what to do |
|---|---|---|---|---|
"""


def reference() -> str:
    return _HEAD + "".join(map(_line, TABLE))


def _line(row: Row) -> str:
    codes = ", ".join(f"`{code}`" for code in row.codes)
    return f"| {row.scope} | {row.action} | {row.error_class} | {codes} | {row.remedy} |\n"


if __name__ == "__main__":
    sys.stdout.write(reference())
