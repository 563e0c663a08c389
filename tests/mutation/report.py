"""What came of all mutants: figures per module, and the survivors with their reasons, as docs/mutation.md has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tests.mutation.child import Trial, Verdict
from tests.mutation.survivors import SURVIVORS

__all__ = ["ModuleResult", "explained", "figures", "share", "survivors", "unexplained"]

_HEAD = ("module", "mutants", *(str(verdict) for verdict in Verdict), "noticed")


@dataclass
class ModuleResult:
    module: str
    trials: dict[str, Trial] = field(default_factory=dict)  # by the name of the mutant

    @property
    def counts(self) -> Counter[Verdict]:
        return Counter(trial.verdict for trial in self.trials.values())

    @property
    def survivors(self) -> list[str]:
        return [name for name, trial in self.trials.items() if trial.verdict is Verdict.SURVIVED]


def share(counts: Mapping[Verdict, int]) -> float:
    """Of those that could be run at all."""
    noticed = counts[Verdict.KILLED] + counts[Verdict.SLOW]
    return noticed / max(1, noticed + counts[Verdict.SURVIVED])


def figures(results: Iterable[ModuleResult]) -> str:
    rows, total = [], Counter[Verdict]()
    for result in results:
        total += result.counts
        rows.append(_row(f"`{result.module}`", result.counts))
    return _table([_HEAD, tuple("---" for _ in _HEAD), *rows, _row("all", total)])


def survivors(results: Iterable[ModuleResult]) -> str:
    rows = [(result.module, name) for result in results for name in result.survivors]
    return explained(rows)


def explained(found: Iterable[tuple[str, str]]) -> str:
    head = ("module", "change", "why it may live")
    rows = [(f"`{module.removeprefix('cdc_relay.')}`", _code(name), _reason(module, name)) for module, name in found]
    return _table([head, tuple("---" for _ in head), *rows])


def unexplained(results: Iterable[ModuleResult]) -> list[str]:
    names = [(result.module, name) for result in results for name in result.survivors]
    return [f"{module}: {name}" for module, name in names if name not in SURVIVORS.get(module, {})]


def _reason(module: str, name: str) -> str:
    return SURVIVORS.get(module, {}).get(name, "NOT EXPLAINED")


def _row(name: str, counts: Mapping[Verdict, int]) -> tuple[str, ...]:
    numbers = [sum(counts.values()), *(counts[verdict] for verdict in Verdict)]
    return name, *map(str, numbers), f"{share(counts):.1%}"


def _code(name: str) -> str:
    return f"`` {name.replace('|', chr(92) + '|')} ``"


def _table(rows: Iterable[tuple[str, ...]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
