"""docs/check.md has every finding that the code can make, in its words."""

from __future__ import annotations

import re
from pathlib import Path

from cdc_relay.admin.check.entries import ENTRIES, table

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "cdc_relay"
SOURCES = [
    *(PACKAGE / "admin" / "check").glob("*.py"),
    PACKAGE / "sources" / "preflight.py",
    PACKAGE / "admin" / "retention" / "table_rules.py",
]
NAME = re.compile(r'"((?:postgres|kafka|lot|guard|backfill|retention)(?:\.[a-z_]+)*)"')


def test_the_document_has_the_table_of_all_findings() -> None:
    assert table() in (ROOT / "docs" / "check.md").read_text(), (
        "put in: python -c 'from cdc_relay.admin.check.entries import table; print(table())'"
    )


def test_every_name_in_the_code_is_an_entry_and_every_entry_is_used() -> None:
    sources = [path for path in SOURCES if path.name != "entries.py"]
    named = {name for path in sources for name in NAME.findall(path.read_text())}
    assert named - ENTRIES.keys() == set()
    assert ENTRIES.keys() - named == {"config"}
