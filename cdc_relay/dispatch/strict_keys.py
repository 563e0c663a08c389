"""Strict order: whose turn it is of a key, and what becomes of those that wait when it is over."""

from __future__ import annotations

from collections.abc import Callable

from cdc_relay.delivery.gates import Lanes
from cdc_relay.dispatch.claims import Claims
from cdc_relay.dispatch.detours import Detours, Parcel
from cdc_relay.dispatch.entrance import Entrance
from cdc_relay.model import Record, Ticket
from cdc_relay.parking.entry import Claim, KeyScope, Mark, Outcome

__all__ = ["StrictKeys"]

_LANE_LIMIT = 1_000  # records of one strict key that wait in memory; the rest waits in the lot, so that others pass


class StrictKeys:
    def __init__(self, lanes: Lanes[Parcel], entrance: Entrance, *, claims: Claims, detours: Detours) -> None:
        self.on_lane_free: Callable[[KeyScope], None] = lambda scope: None
        self._lanes = lanes
        self._entrance = entrance
        self._gates = entrance.gates
        self._claims = claims
        self._detours = detours
        self._detour_topics = detours.topics
        self._hand_out = detours.hand_out
        self._in_lane: set[int] = set()  # claims for which the rest of their key waits

    def admit(self, record: Record, ticket: Ticket) -> bool:
        """True: hand it out. False: it waits for its turn, in memory or in the lot."""
        scope = record.topic, record.key
        if scope not in self._gates:
            is_free = self._lanes.enter(scope, (record, ticket), _LANE_LIMIT)
            if is_free is not None:
                return is_free
        self._entrance.put_behind(record, ticket)
        return False

    def admit_claim(self, record: Record, claim: Claim) -> bool:
        if not self._lanes.enter((record.topic, record.key), (record, claim)):
            return False
        self._in_lane.add(claim.id)
        return True

    def advance(self, scope: KeyScope) -> None:
        """The key's record that was out is settled, or need not be waited for."""
        item = self._lanes.advance(scope)
        if item is not None:
            record, slip = item
            if isinstance(slip, Claim):
                self._in_lane.add(slip.id)
            if scope[0] in self._detour_topics:
                self._detours.send_again(record, slip)
            else:
                self._hand_out(record, slip)
        elif scope in self._gates:
            self.on_lane_free(scope)

    def shut(self, scope: KeyScope) -> None:
        """The key's record that was out failed: what waited for it goes behind it into the lot."""
        gate = self._gates.shut(scope)
        for record, slip in self._lanes.clear(scope):
            if isinstance(slip, Claim):
                self._claims.release(slip)
            else:
                self._entrance.put_behind(record, slip, is_urgent=True)
        gate.claim_after = self._entrance.parks.added_count

    def on_marked(self, mark: Mark) -> None:
        claim = mark.claim
        if _is_over(mark) and claim.record is not None and claim.keeps_order:
            self._follow(claim, (claim.topic, claim.record.key))
        self._in_lane.discard(claim.id)

    def _follow(self, claim: Claim, scope: KeyScope) -> None:
        if claim.id in self._in_lane:
            self.advance(scope)
        elif scope in self._gates and scope not in self._lanes:
            self.on_lane_free(scope)


def _is_over(mark: Mark) -> bool:
    """Nobody of its key waits for this record any more."""
    is_dead = mark.outcome is Outcome.FAILED and mark.retry_seconds is None
    return mark.outcome in (Outcome.PUBLISHED, Outcome.DROPPED) or (is_dead and not mark.claim.policy.hold_dead)
