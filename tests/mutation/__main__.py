"""`python -m tests.mutation`: plant each mutant, run the unit tests that concern it, and tell what nobody noticed.

Not part of `make test`: one process at a time, it takes a good part of an hour. It must import nothing of cdc_relay.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from tests.mutation.child import Trial, Verdict, warm_up
from tests.mutation.mutant import Mutant, mutants_of
from tests.mutation.places import AT_IMPORT, LEAST_SHARE, MODULES
from tests.mutation.plant import try_planted
from tests.mutation.report import ModuleResult, figures, share, survivors, unexplained
from tests.mutation.swap import try_swapped

ROOT = Path(__file__).parents[2]


@click.command()
@click.option("--only", metavar="TEXT", default="", help="The modules whose name has this in it.")
@click.option("--change", metavar="TEXT", default="", help="The mutants whose name has this in it.")
@click.option("--list", "list_only", is_flag=True, help="Show the mutants and try none.")
def main(only: str, change: str, list_only: bool) -> None:
    """Fails when fewer than nine of ten are noticed, or when one that is not has no reason in survivors.py."""
    chosen = {module: tests for module, tests in MODULES.items() if only in module}
    if not chosen:
        raise click.UsageError(f"no module has {only} in its name")
    mutants = {module: [each for each in mutants_of(_path(module)) if change in each.name] for module in chosen}
    if list_only:
        _show(mutants)
        return
    warm_up()
    results = [_try_module(module, mutants[module]) for module in chosen]
    _conclude(results, is_whole=not change)


def _path(module: str) -> Path:
    return ROOT / f"{module.replace('.', '/')}.py"


def _show(mutants: dict[str, list[Mutant]]) -> None:
    for module, found in mutants.items():
        for mutant in found:
            print(f"{module}:{mutant.line}  {mutant.name}")
    print(f"{sum(map(len, mutants.values()))} mutants in {len(mutants)} modules")


def _try_module(module: str, mutants: Sequence[Mutant]) -> ModuleResult:
    result, started = ModuleResult(module), time.monotonic()
    for mutant, trial in _try_each(module, mutants):
        result.trials[mutant.name] = trial
        told = f"  {trial.verdict:<8} {trial.seconds:5.1f} s  line {mutant.line}  {mutant.name}  {trial.test}"
        print(told.rstrip(), flush=True)
    print(f"{module}: {dict(result.counts)}, {time.monotonic() - started:.0f} s", flush=True)
    return result


def _try_each(module: str, mutants: Sequence[Mutant]) -> Iterator[tuple[Mutant, Trial]]:
    file, tests = str(_path(module)), [str(ROOT / "tests" / "unit" / test) for test in MODULES[module]]
    within = [each for each in mutants if each.spot.function and module not in AT_IMPORT]
    by_name = {mutant.name: mutant for mutant in within}
    for name, trial in try_swapped(module, file, within, tests):
        if name:
            yield by_name[name], trial
        elif trial.verdict is not Verdict.SURVIVED:
            raise click.ClickException(f"{module}: its tests fail without a mutant: {trial}")
    for mutant in mutants:
        if mutant.name not in by_name:
            yield mutant, try_planted(module, mutant.compile(file), tests)


def _conclude(results: Sequence[ModuleResult], *, is_whole: bool) -> None:
    print(f"\n{figures(results)}\n\n{survivors(results)}\n")
    unknown = unexplained(results)
    for name in unknown:
        print(f"survived without a reason: {name}")
    counts = sum((result.counts for result in results), start=Counter[Verdict]())
    is_enough = share(counts) >= LEAST_SHARE or not is_whole
    sys.exit(0 if is_enough and not unknown else 1)


if __name__ == "__main__":
    main()
