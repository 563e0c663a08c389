"""The walk: every fault in a random order, then again in another one, each with others at the same time or alone."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field

from tests.chaos.walk.fault import Fault
from tests.chaos.walk.ground import Ground

__all__ = ["Step", "Walk", "choose_steps"]

COMPANY = (0, 0, 0, 1, 1, 2)  # how many others come at the same time
CALM_SECONDS = 1.0


@dataclass(frozen=True)
class Step:
    number: int
    faults: tuple[Fault, ...]

    def __str__(self) -> str:
        return " + ".join(fault.name for fault in self.faults)


def choose_steps(faults: Sequence[Fault], seed: int) -> Iterator[Step]:
    """Without end; the same for the same seed."""
    rng, number = random.Random(f"steps {seed}"), 0
    while True:
        for leader in rng.sample(faults, len(faults)):
            yield Step(number, (leader, *_company(leader, faults, rng)))
            number += 1


def _company(leader: Fault, faults: Sequence[Fault], rng: random.Random) -> list[Fault]:
    chosen: list[Fault] = []
    wanted = 0 if leader.is_lonely else rng.choice(COMPANY)
    for other in rng.sample(faults, len(faults)):
        taken = {victim for each in (leader, *chosen) for victim in each.victims}
        if len(chosen) < wanted and not other.is_lonely and not taken & set(other.victims):
            chosen.append(other)
    return chosen


@dataclass
class Walk:
    ground: Ground
    seed: int
    say: Callable[[str], None] = print
    struck: list[Fault] = field(default_factory=list)

    def run(self, steps: Iterator[Step], *, seconds: float) -> None:
        """Until the time is over, or there are no more steps."""
        started = time.monotonic()
        for step in steps:
            if time.monotonic() - started > seconds:
                return
            try:
                self._take(step)
            except AssertionError:
                self.say(f"it was step {step.number}: {step}")
                raise
            passed = time.monotonic() - started
            counts = f"{self.ground.history.event_count:,} events, {self.ground.history.delivery_count:,} deliveries"
            self.say(f"{passed:6.0f} s  step {step.number}: {step}; {counts}")

    def _take(self, step: Step) -> None:
        """With keys of its own, so that what it did to them stays to be seen, and a calm after it, in which nothing may
        come again."""
        self.ground.change_keys(f"-{step.number}")
        with ExitStack() as noted:
            for fault in step.faults:
                noted.enter_context(self.ground.history.incident(fault.name, **_excuses(fault)))
            self._strike(step)
            self.ground.recover()
            self.ground.wait_until_confirmed()
        time.sleep(CALM_SECONDS)
        self.struck += step.faults

    def _strike(self, step: Step) -> None:
        with ThreadPoolExecutor(len(step.faults)) as pool:
            strikes = [pool.submit(each.strike, self.ground, self._rng(step, each)) for each in step.faults]
            for strike in strikes:
                strike.result()

    def _rng(self, step: Step, fault: Fault) -> random.Random:
        return random.Random(f"{self.seed} {step.number} {fault.name}")


def _excuses(fault: Fault) -> dict[str, bool]:
    names = ("repeats", "rewinds", "leaves_stale", "replays")
    return {name: getattr(fault, name) for name in names}
