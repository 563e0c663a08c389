"""What one fault showed of one test, and the table of them all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.breakage.fault import Fault
from tests.breakage.workshop import Outcome

__all__ = ["Verdict", "table"]

HEAD = ("promise", "what was broken", "test", "passes unbroken", "fails broken")


@dataclass(frozen=True, slots=True)
class Verdict:
    fault: Fault
    test: str
    unbroken: Outcome
    broken: Outcome

    @property
    def is_noticed(self) -> bool:
        """A test that is skipped, or that cannot even be collected in the broken copy, shows nothing."""
        return (self.unbroken.word, self.broken.word) == ("passed", "failed")

    @property
    def row(self) -> tuple[str, ...]:
        return (
            f"{self.fault.promise:>{len(HEAD[0])}}",
            self.fault.title,
            f"`{self.test.removeprefix('tests/')}`",
            _yes(self.unbroken, "passed"),
            _yes(self.broken, "failed"),
        )


def table(verdicts: Sequence[Verdict]) -> str:
    """As Markdown has it."""
    rows = [HEAD, tuple("---" for _ in HEAD), *(verdict.row for verdict in verdicts)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _yes(outcome: Outcome, wanted: str) -> str:
    return "yes" if outcome.word == wanted else f"NO: {outcome.word}"
