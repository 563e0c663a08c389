"""Whether the gates of strict keys can be opened: only a survey of the lot can tell, and nobody may come meanwhile."""

from __future__ import annotations

from concurrent.futures import Future

from cdc_relay.delivery.gates import Gates
from cdc_relay.dispatch.track import Submit
from cdc_relay.errors import AwayError
from cdc_relay.parking.entry import KeyScope, Survey
from cdc_relay.parking.lot import Lot

__all__ = ["Gatekeeper"]

_SURVEY_SECONDS = 10.0  # also finds what was changed by hand without a notification


class Gatekeeper:
    def __init__(self, gates: Gates, lot: Lot, *, submit: Submit) -> None:
        self.survey_at = 0.0
        self._gates = gates
        self._lot = lot
        self._submit = submit
        self._surveying: Future[Survey] | None = None
        self._finishing: set[KeyScope] = set()  # keys whose gate may open, if a survey finds nothing of them
        self._surveyed: set[KeyScope] = set()  # those of them that the survey under way is about

    @property
    def is_finishing(self) -> bool:
        return bool(self._finishing or self._surveyed)

    def finish(self, scope: KeyScope) -> None:
        """Let the next survey tell whether the key's gate can be opened."""
        gate = self._gates.get(scope)
        if gate is not None:
            gate.is_finishing = True
            self._finishing.add(scope)
            self.survey_at = 0.0

    def tend(self, now: float, *, may_ask: bool) -> Survey | None:
        """A survey that has arrived. AwayError: the lot does not answer."""
        if self._surveying is None:
            if may_ask and now >= self.survey_at and not self._are_entering():
                self._surveyed, self._finishing = self._finishing, set()
                self._surveying = self._submit(self._lot.survey)
                self.survey_at = now + _SURVEY_SECONDS
            return None
        if not self._surveying.done():
            return None
        future, self._surveying = self._surveying, None
        try:
            return future.result()
        except AwayError:
            self._let_go()
            raise

    def take(self, survey: Survey) -> set[KeyScope]:
        """The keys that are open now."""
        opened = self._surveyed - survey.heads.keys()
        for scope in opened:
            self._gates.open(scope)
        self._let_go()
        for scope in survey.heads:
            self._gates.shut(scope)  # an operator may have made it one
        return opened

    def _are_entering(self) -> bool:
        gates = (self._gates.get(scope) for scope in self._finishing)
        return any(gate is not None and gate.entering for gate in gates)

    def _let_go(self) -> None:
        for scope in self._surveyed:
            gate = self._gates.get(scope)
            if gate is not None:
                gate.is_finishing = False
        self._surveyed = set()
