"""`python -m tests.fuzz TARGET|all`: fuzz with atheris, print what it came to, and keep what it found.

Needs the extra `fuzz`. Not part of `make test`, which replays what was kept.
"""

from __future__ import annotations

import sys

import click

from tests.fuzz.runner import Budget, Outcome, fuzz
from tests.fuzz.tally import table
from tests.fuzz.target import NAMES

_LAST_LINES = 40


@click.command()
@click.argument("targets", nargs=-1, required=True, type=click.Choice([*NAMES, "all"]), metavar="TARGET|all")
@click.option("--seconds", type=click.IntRange(1), help="How long each target is fuzzed.")
@click.option("--runs", type=click.IntRange(1), help="How often each target is executed; the first limit ends it.")
@click.option(
    "--seed", type=int, default=0, help="Of libFuzzer's random numbers; one process with one seed goes one way."
)
def main(targets: tuple[str, ...], seconds: int | None, runs: int | None, seed: int) -> None:
    """Fuzz each target in a process of its own, one after the other; exit 1 if there was a finding, or no execution."""
    if seconds is None and runs is None:
        raise click.UsageError("say how long: --seconds N or --runs N")
    outcomes = [_fuzz(name, Budget(seconds, runs, seed)) for name in (NAMES if "all" in targets else targets)]
    print("\n" + table(outcome.tally for outcome in outcomes), flush=True)
    sys.exit(1 if any(outcome.findings or not outcome.tally.executions for outcome in outcomes) else 0)


def _fuzz(name: str, budget: Budget) -> Outcome:
    print(f"{name}: fuzzing", flush=True)
    outcome = fuzz(name, budget)
    tally = outcome.tally
    print(f"{name}: {tally.executions:,} executions in {tally.seconds:,.0f} s, {tally.findings} findings", flush=True)
    if outcome.findings or not tally.executions:
        print("\n".join(outcome.output.splitlines()[-_LAST_LINES:]), flush=True)
    for file in outcome.findings:
        print(f"{name}: kept {file}", flush=True)
    return outcome


if __name__ == "__main__":
    main()
