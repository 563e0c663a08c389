"""docs/status.md explains the JSON that there is, field by field."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cdc_relay.admin.status.document import report_document
from tests.unit.status_rig import FULL

DOCUMENT = (Path(__file__).parents[2] / "docs" / "status.md").read_text()


def paths_of(value: Any, prefix: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for name, below in value.items():
            path = f"{prefix}.{name}" if prefix else name
            yield path
            yield from paths_of(below, path)
    elif isinstance(value, list | tuple):
        assert value, f"{prefix} is empty in the full report: its fields cannot be seen"
        yield from paths_of(value[0], f"{prefix}[]")


def test_the_documented_fields_are_those_of_the_code_in_their_order() -> None:
    table = DOCUMENT.partition("## The JSON")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `([\w.\[\]]+)` \|", table, re.MULTILINE) == list(paths_of(report_document(FULL)))


def test_every_level_of_the_verdict_is_documented() -> None:
    table = DOCUMENT.partition("## The first thing to do")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| (\w+) \|", table, re.MULTILINE)) - {"level"} == {"ok", "attention", "act"}
