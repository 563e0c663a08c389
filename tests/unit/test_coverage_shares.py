"""Lines and branches are judged apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.coverage.__main__ import main
from tests.coverage.shares import find_shares

LINES = {"covered_lines": 990, "num_statements": 1000}


@pytest.mark.parametrize(("covered", "exit_code"), [(95, 0), (94, 1)])
def test_many_lines_do_not_hide_few_branches(tmp_path: Path, covered: int, exit_code: int) -> None:
    file = tmp_path / "coverage.json"
    file.write_text(json.dumps({"totals": {**LINES, "covered_branches": covered, "num_branches": 100}}))
    done = CliRunner().invoke(main, [str(file)])
    assert done.exit_code == exit_code
    assert done.output.splitlines()[:2] == [
        "lines: 990 of 1,000, 99.00 %",
        f"branches: {covered} of 100, {covered}.00 %",
    ]


def test_where_there_is_nothing_to_cover_nothing_is_missing() -> None:
    lines, branches = find_shares({**LINES, "covered_branches": 0, "num_branches": 0})
    assert (lines.percent, branches.percent) == (99.0, 100.0)
