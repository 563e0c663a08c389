"""`python -m tests.breakage`: break each promise on purpose and see that a test notices.

Not part of `make test`: it starts servers anew for each fault and takes 15 to 25 minutes on two cores.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Sequence

import click

from tests.breakage.fault import Fault, FaultError
from tests.breakage.faults import FAULTS
from tests.breakage.verdict import Verdict, table
from tests.breakage.workshop import Outcome, Workshop, workshop


@click.command()
@click.option("--only", type=int, metavar="N", help="The faults of one promise.")
@click.option("--list", "list_only", is_flag=True, help="Show the faults and break nothing.")
def main(only: int | None, list_only: bool) -> None:
    """Plant each fault in a copy of the repository; its tests must pass without it and fail with it."""
    faults = [fault for fault in FAULTS if only in (None, fault.promise)]
    if not faults:
        raise click.UsageError(f"promise {only} has no faults")
    if list_only:
        _show(faults)
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # with the copies removed, as on Ctrl-C
    try:
        with workshop() as shop:
            verdicts = _try_all(shop, faults)
    except FaultError as exc:
        raise click.ClickException(str(exc)) from exc
    print("\n" + table(verdicts))
    unnoticed = [verdict for verdict in verdicts if not verdict.is_noticed]
    print(f"\n{len(faults)} faults, {len(verdicts)} times a test that must notice, {len(unnoticed)} times it did not")
    sys.exit(1 if unnoticed else 0)


def _show(faults: Sequence[Fault]) -> None:
    for fault in faults:
        print(f"{fault.promise:>2}  {fault.title} ({fault.file})")
        for test in fault.tests:
            print(f"      {test}")


def _try_all(shop: Workshop, faults: Sequence[Fault]) -> list[Verdict]:
    shop.check(faults)
    started = time.monotonic()
    tests = list(dict.fromkeys(test for fault in faults for test in fault.tests))
    print(f"{len(tests)} tests, unbroken", flush=True)
    unbroken = shop.run_unbroken(tests)
    _tell(unbroken, started, unless="passed")
    verdicts = []
    for fault in faults:
        started = time.monotonic()
        print(f"{fault.promise:>2}  {fault.title}", flush=True)
        broken = shop.run_broken(fault)
        _tell(broken, started)
        verdicts += [Verdict(fault, test, unbroken[test], broken[test]) for test in fault.tests]
    return verdicts


def _tell(outcomes: dict[str, Outcome], started: float, *, unless: str = "") -> None:
    for test, outcome in outcomes.items():
        if outcome.word != unless:
            print(f"      {outcome.word}: {test.rpartition('::')[2]}\n        {outcome.reason[:300]}")
    print(f"      {time.monotonic() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
