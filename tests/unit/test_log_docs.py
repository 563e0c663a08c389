"""docs/logs.md has every line that can be logged, with its level and its fields, and no other; its filters work."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from cdc_relay.logs.collapse import FIRST_SECONDS, KIND_LIMIT, LONGEST_SECONDS
from tests.unit.log_calls import LogCall, find_calls

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "logs.md").read_text()
CALLS = list(find_calls(ROOT / "cdc_relay"))
ROWS = {
    event: (level, set(re.findall(r"`(\w+)`", fields)))
    for event, level, fields in re.findall(r"^\| `(\w+)` \| ([\w ]+) \| [^|]* \| ([^|]*) \|", TEXT, re.MULTILINE)
}
FAILED = {"level": "error", "event": "outbox_failed", "code": "no_route", "correlation_id": "c-42"}
LINES = [
    {"timestamp": "t", "level": "info", "event": "state", "state": "streaming"},
    {"timestamp": "t", **FAILED},
    {"timestamp": "t", **FAILED, "correlation_id": "c-43", "repeated": 8},
]
PRINTED = [
    [json.dumps(line, separators=(",", ":")) for line in LINES[1:]],
    [json.dumps(LINES[1], separators=(",", ":"))],
    ["10 no_route"],
    ['["t","streaming",null]'],
]


def test_every_event_is_named_where_it_is_logged() -> None:
    assert [call.place for call in CALLS if not re.fullmatch(r"[a-z]+(_[a-z]+)*", call.event)] == []


def test_the_table_has_every_event_and_no_other() -> None:
    assert set(ROWS) == {call.event for call in CALLS}


@pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call.event} {call.place}")
def test_the_table_has_its_level_and_its_fields(call: LogCall) -> None:
    level, fields = ROWS[call.event]
    assert level == ("its own" if call.level == "log" else call.level)
    assert call.fields - fields == set()


def test_the_figures_of_the_document_are_those_of_the_code() -> None:
    assert f"one line in {FIRST_SECONDS:g} s, " in TEXT
    assert f"at most {LONGEST_SECONDS:g} s" in TEXT
    assert f"Beyond {KIND_LIMIT} kinds" in " ".join(TEXT.split())


def test_the_example_begins_as_every_line_does() -> None:
    [example] = re.findall(r"```json\n(.*)\n```", TEXT)
    assert list(json.loads(example))[:5] == ["timestamp", "level", "event", "service", "slot"]


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
@pytest.mark.parametrize(("number", "expected"), list(enumerate(PRINTED)))
def test_each_filter_finds_what_it_is_for(number: int, expected: list[str], tmp_path: Path) -> None:
    filters = re.findall(r"^jq .*$", TEXT, re.MULTILINE)
    assert len(filters) == len(PRINTED)
    (tmp_path / "relay.log").write_text("".join(json.dumps(line) + "\n" for line in LINES))
    done = subprocess.run(["bash", "-c", filters[number]], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == expected
