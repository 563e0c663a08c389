"""A record that kills the process must not do so for ever.

After repeated deaths at one position: a handful at a time, noted durably before it is touched, until it has survived.
Of a handful that was noted at a death, and of parked records that were out at several, each goes alone behind a note of
its own. The one that was noted alone at three deaths is the culprit. Such a note is open for a moment only, and never
while we wait for a broker: an outage makes nobody a culprit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future

import structlog

from cdc_relay.delivery.failures import CRASH, judge
from cdc_relay.errors import AwayError
from cdc_relay.model import Failure, Identity
from cdc_relay.parking.entry import Claim, Inventory

__all__ = ["HANDFUL", "SURVIVED_SECONDS", "Caution", "Notebook", "Quarantine"]

log = structlog.get_logger()

_DEATHS_TO_CAUTION = 2
_DEATHS_TO_CULPRIT = 3
HANDFUL = 100  # records behind one note: 20,000 one by one took minutes, whoever had killed the process
_IDLE_SECONDS = 3.0
_MORE_COUNT = 100
SURVIVED_SECONDS = 0.2  # alive for so long with the record handed out: what is missing now is the broker's answer


class Notebook:
    """The one note of this slot: a record, and of how many it may be the first."""

    def __init__(
        self,
        suspects: Mapping[Identity, int],
        handfuls: Mapping[Identity, int],
        *,
        open_note: Callable[[Identity, int], Future[None]],
        close_note: Callable[[], Future[None]],
        forget_handfuls: Callable[[], Future[None]],
    ) -> None:
        self.open_note = open_note
        self.close_note = close_note
        self.forget_handfuls = forget_handfuls
        self._suspects = suspects
        self._handfuls = handfuls

    def handful_at(self, identity: Identity) -> int:
        """How many records from this one on were noted together when a run died."""
        return self._handfuls.get(identity, 0)

    def handful_before(self, lsn: int) -> int:
        """The same of one whose first records the slot has passed: the rest comes before all others."""
        return max((count for first, count in self._handfuls.items() if first[1] < lsn), default=0)

    @property
    def has_handfuls(self) -> bool:
        return bool(self._handfuls)

    def is_unknown(self, identity: Identity) -> bool:
        """No run died with a note that names it."""
        return identity not in self._suspects and identity not in self._handfuls

    def is_culprit(self, identity: Identity) -> bool:
        return self._suspects.get(identity, 0) >= _DEATHS_TO_CULPRIT

    def sentence(self, identity: Identity) -> Failure:
        return judge(CRASH, f"the process died {self._suspects[identity]} times while it was at this record")


class Caution:
    """For the stream. `budget`: how many records the process that died may have had in its hands."""

    def __init__(self, inventory: Inventory, notebook: Notebook, *, budget: int) -> None:
        self.notebook = notebook
        self._alone_left = notebook.handful_before(inventory.confirmed_lsn)  # of a handful at which a run died
        is_grave = inventory.deaths >= _DEATHS_TO_CAUTION or inventory.has_suspects_to_come
        self._left = budget if is_grave else self._alone_left
        self.is_on = self._left > 0
        self._end_lsn = inventory.end_lsn
        self._idle_since: float | None = None
        if self.is_on:
            log.warning("caution", reason="runs have died at this position", doing="a handful of records at a time")

    def handful_from(self, identity: Identity) -> int:
        """How many records go together behind one note that names this one."""
        self._alone_left = max(self._alone_left, self.notebook.handful_at(identity))
        return 1 if self._alone_left or not self.notebook.is_unknown(identity) else HANDFUL

    def passed(self, count: int) -> None:
        self._idle_since = None
        self._alone_left = max(0, self._alone_left - count)
        self._left -= count

    @property
    def is_spent(self) -> bool:
        """What the dead runs may have had in their hands has passed. Who reads ends it then, with empty hands."""
        return self._left <= 0 and not self._alone_left

    def found(self) -> None:
        """The culprit is parked. There may be more like it nearby."""
        self._left = min(self._left, _MORE_COUNT)

    def rest(self, now: float, received_lsn: int) -> None:
        """Nothing comes, and the server is not only reading: what the dead runs had in their hands has passed."""
        if received_lsn < self._end_lsn:
            return
        self._idle_since = now if self._idle_since is None else self._idle_since
        if now - self._idle_since >= _IDLE_SECONDS:
            self._left = self._alone_left = 0

    def end(self) -> None:
        self.is_on = False
        log.info("caution_over")


class Quarantine:
    """For claims that were out at several deaths: each alone, behind a note."""

    def __init__(
        self, notebook: Notebook, *, offer: Callable[[Claim], None], condemn: Callable[[Claim, Failure], None]
    ) -> None:
        self._notebook = notebook
        self._offer = offer
        self._condemn = condemn
        self._waiting: deque[Claim] = deque()
        self._noting: Future[None] | None = None
        self._closing: Future[None] | None = None
        self._out_since: float | None = None

    @staticmethod
    def wants(claim: Claim) -> bool:
        return claim.suspicion >= _DEATHS_TO_CAUTION

    def add(self, claim: Claim) -> None:
        if self._notebook.is_culprit(claim.identity):
            self._condemn(claim, self._notebook.sentence(claim.identity))
        else:
            self._waiting.append(claim)

    def tend(self, now: float) -> None:
        if self._closing is not None:
            if _is_over(self._closing):
                self._closing = None
        elif self._out_since is not None:
            if now - self._out_since >= SURVIVED_SECONDS:
                self._out_since, self._closing = None, self._notebook.close_note()
        elif self._noting is not None:
            self._tend_noting(now)
        elif self._waiting:
            self._noting = self._notebook.open_note(self._waiting[0].identity, 1)

    def _tend_noting(self, now: float) -> None:
        assert self._noting is not None
        if not self._noting.done():
            return
        future, self._noting = self._noting, None
        if _is_over(future) and future.exception() is None:
            self._out_since = now
            self._offer(self._waiting.popleft())


def _is_over(future: Future[None]) -> bool:
    """Done, whatever came of it: a note that could not be written is tried again, one that stays open is corrected."""
    if not future.done():
        return False
    exc = future.exception()
    if exc is not None and not isinstance(exc, AwayError):
        raise exc
    return True
