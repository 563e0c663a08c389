"""`python -m tests.compare` (make compare-debezium): a real Debezium and the relay over one corpus of rows.

Writes what Debezium did to the golden file of the ordinary tests, and ends with 1 where we differ without a reason.
"""

from __future__ import annotations

import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import click

from tests.compare import golden
from tests.compare.case import Case
from tests.compare.corpus import CASES
from tests.compare.debezium import VERSION, record_debezium
from tests.compare.differences import CHOICES, stale_places, unexplained
from tests.compare.ground import Ground, ground
from tests.compare.relay import RefusedConfigError, record_relay
from tests.compare.wire import Outcome, parts_that_differ, show


@click.command()
@click.option("--only", "names", multiple=True, metavar="CASE", help="These cases; the golden file keeps the others.")
@click.option("--choices", is_flag=True, help="Print the table of docs/debezium.md and start nothing.")
@click.option("--list", "list_only", is_flag=True, help="Show the cases and start nothing.")
def main(names: Sequence[str], choices: bool, list_only: bool) -> None:
    """Run both over the corpus, record Debezium, and print every difference."""
    if choices:
        print("\n".join(f"| {choice.what} | {choice.why} |" for choice in CHOICES))
        return
    cases = [case for case in CASES if not names or case.name in names]
    if list_only or not cases:
        print("\n".join(case.name for case in CASES))
        sys.exit(0 if cases else 2)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # with the servers ended, as on Ctrl-C
    with ground() as servers, tempfile.TemporaryDirectory() as directory:
        run = Run(servers, Path(directory))
        for case in cases:
            run.compare(case)
    golden.save(VERSION, ({} if not names else golden.load()) | run.recorded)
    sys.exit(run.verdict(is_whole=not names))


class Run:
    def __init__(self, servers: Ground, directory: Path) -> None:
        self.recorded: dict[str, golden.GoldenCase] = {}
        self._servers = servers
        self._directory = directory
        self._found: list[str] = []  # places that differ
        self._refused: list[str] = []  # cases that the relay does not take

    def compare(self, case: Case) -> None:
        started = time.monotonic()
        print(f"{case.name}: {len(case.rows)} rows", flush=True)
        place = self._servers.place(case)
        theirs = record_debezium(place)
        self.recorded[case.name] = golden.GoldenCase(*place.streamed(), theirs)
        try:
            self._show(case, theirs, record_relay(place, self._directory / case.name))
        except RefusedConfigError as exc:
            self._refused.append(case.name)
            print(f"  not compared, the relay refuses the configuration: {exc}")
        print(f"  {time.monotonic() - started:.0f} s", flush=True)

    def verdict(self, *, is_whole: bool) -> int:
        wrong = unexplained(self._found)
        stale = stale_places(self._found) if is_whole and not self._refused else []
        print(
            f"\n{len(self._found)} differences, {len(wrong)} of them without a reason in tests/compare/differences.py"
        )
        print("".join(f"  {place}\n" for place in wrong), end="")
        print("".join(f"  no difference any more: {pattern}\n" for pattern in stale), end="")
        if self._refused:
            print(f"not compared: {', '.join(self._refused)}")
        return 1 if wrong or stale or self._refused else 0

    def _show(self, case: Case, theirs: dict[str, Outcome], ours: dict[str, Outcome]) -> None:
        for row in case.rows:
            parts = list(parts_that_differ(theirs[row], ours[row], is_json=case.is_json))
            self._found += [f"{case.name}/{row}:{part}" for part in parts]
            for part in parts:
                print(f"  {row}:{part}\n    Debezium {show(theirs[row], part)}\n    relay    {show(ours[row], part)}")


if __name__ == "__main__":
    main()
