"""Strict order: whose turn it is of a key, and what becomes of those that wait when it is over."""

from __future__ import annotations

from collections.abc import Callable

from cdc_relay.delivery.gates import Lanes
from cdc_relay.dispatch.claims import Claims
from cdc_relay.dispatch.detours import Detours
from cdc_relay.dispatch.entrance import Entrance
from cdc_relay.dispatch.followers import find_followers
from cdc_relay.dispatch.traffic import Parcel, Traffic
from cdc_relay.model import Record, Ticket
from cdc_relay.parking.entry import Claim, KeyScope, Mark, Outcome
from cdc_relay.sinks.sink import Slip

__all__ = ["StrictKeys"]

_LANE_LIMIT = 1_000  # records of one strict key that wait in memory; the rest waits in the lot, so that others pass


class StrictKeys:
    def __init__(
        self, lanes: Lanes[Parcel], entrance: Entrance, *, traffic: Traffic, claims: Claims, detours: Detours
    ) -> None:
        self.on_lane_free: Callable[[KeyScope], None] = lambda scope: None
        self._lanes = lanes
        self._entrance = entrance
        self._gates = entrance.gates
        self._claims = claims
        self._detours = detours
        self._detour_topics = detours.topics
        self._traffic = traffic
        self._in_lane: set[int] = set()  # claims for which the rest of their key waits

    def admit(self, record: Record, ticket: Ticket) -> bool:
        """True: hand it out. False: it waits for its turn, in memory or in the lot."""
        scope = record.topic, record.key
        if not self._gates or scope not in self._gates:
            is_free = self._lanes.enter(scope, (record, ticket), _LANE_LIMIT)
            if is_free:
                self._lanes.out[ticket.transaction.commit_lsn, ticket.ordinal] = scope  # its position, without a call
            if is_free is not None:
                return is_free
        self._entrance.put_behind(record, ticket)
        return False

    def admit_claim(self, record: Record, claim: Claim) -> bool:
        if not self._lanes.enter((record.topic, record.key), (record, claim)):
            return False
        self._in_lane.add(claim.id)
        return True

    def let_follow(self, tickets: list[Ticket]) -> None:
        """They are settled: those that waited for one of them go out."""
        lanes = self._lanes
        if lanes.out:
            followers, freed = find_followers(tickets, out=lanes.out, lanes=lanes.by_scope)
            lanes.waiting_count -= len(followers)
            for record, slip in self._traffic.hand_out_usual(followers, self._detour_topics):
                self._send(record, slip)
            if self._gates:
                self._leave(freed)

    def advance(self, scope: KeyScope) -> None:
        """The key's record that was out need not be waited for."""
        parcel = self._lanes.advance(scope)
        if parcel is None:
            self._leave([scope])
            return
        record, slip = parcel
        if not isinstance(slip, Claim):
            self._lanes.out[slip.position] = scope
        self._send(record, slip)

    def _send(self, record: Record, slip: Slip) -> None:
        if isinstance(slip, Claim):
            self._in_lane.add(slip.id)
        self._detours.send_again(record, slip)

    def _leave(self, scopes: list[KeyScope]) -> None:
        """Nobody of these keys is out, and nobody waits in memory."""
        for scope in scopes:
            if scope in self._gates:
                self.on_lane_free(scope)

    def on_failed(self, record: Record, ticket: Ticket, *, must_wait: bool) -> None:
        """It is on its way into the lot; whether its key waits until it comes out."""
        self._lanes.out.pop(ticket.position, None)
        scope = record.topic, record.key
        if must_wait:
            self.shut(scope)
        else:
            self.advance(scope)

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
