"""One source of claims: the lot is asked for a batch, and again when all of it is written down."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from cdc_relay.delivery.gates import Gate
from cdc_relay.dispatch.outages import ClosedTopic
from cdc_relay.parking.entry import Claim, KeyScope

__all__ = ["BATCH", "Job", "Submit", "Track"]

Submit = Callable[[Callable[[], Any]], Future[Any]]  # to the helper
Job = Callable[[], list[Claim]]

BATCH = 200


@dataclass(slots=True, eq=False)
class Track:
    """`out` are claimed and not yet written down again."""

    make_job: Callable[[], Job]  # on the loop's thread: the helper gets what it needs, and touches nothing of ours
    scope: KeyScope | None = None
    topic: ClosedTopic | None = None
    future: Future[list[Claim]] | None = None
    out: int = 0
    was_clear: bool = False  # nothing was on its way into the lot when the claim was asked for
    ask_at: float = 0.0

    @property
    def is_busy(self) -> bool:
        return self.future is not None or self.out > 0

    def ask(self, submit: Submit, *, gate: Gate | None = None) -> None:
        self.was_clear = gate is None or not gate.entering
        self.future = submit(self.make_job())
