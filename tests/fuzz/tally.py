"""What a run of libFuzzer says about itself, read out of its output, and the table of several."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Tally", "read_tally", "table"]

_STATISTIC = re.compile(r"^stat::(\w+):\s+(\d+)$", re.MULTILINE)
_PROGRESS = re.compile(r"^#(\d+)\s+\w+\s.*?cov: (\d+) ft: (\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Tally:
    target: str
    executions: int
    seconds: float
    paths: int  # places of the instrumented code that were reached
    features: int  # with how often, as libFuzzer tells inputs apart
    new_inputs: int  # that led somewhere new
    kept_files: int = 0
    findings: int = 0


def read_tally(target: str, output: str, *, seconds: float) -> Tally:
    """From the statistics at the end; a run that ended otherwise has its last line of progress."""
    told = {name: int(value) for name, value in _STATISTIC.findall(output)}
    progress = _PROGRESS.findall(output)
    last, paths, features = (int(each) for each in progress[-1]) if progress else (0, 0, 0)
    executions = told.get("number_of_executed_units", last)
    return Tally(target, executions, seconds, paths, features, told.get("new_units_added", 0))


def table(tallies: Iterable[Tally]) -> str:
    """In Markdown, with the sum of executions and seconds below."""
    rows = list(tallies)
    lines = [
        "| target | executions | seconds | paths | features | inputs that found new ones | files kept | findings |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
        *(_line(row) for row in rows),
    ]
    total = f"| all | {sum(row.executions for row in rows):,} | {sum(row.seconds for row in rows):,.0f} | | | "
    return "\n".join(
        [*lines, f"{total}| {sum(row.kept_files for row in rows)} | {sum(row.findings for row in rows)} |"]
    )


def _line(row: Tally) -> str:
    numbers = (row.paths, row.features, row.new_inputs, row.kept_files, row.findings)
    return f"| {row.target} | {row.executions:,} | {row.seconds:,.0f} | {' | '.join(f'{each:,}' for each in numbers)} |"
