"""The lot's records on their way out to the sink: routed again where they had no route, and each in its key's turn."""

from __future__ import annotations

from collections.abc import Callable

from cdc_relay.dispatch.claims import Claims
from cdc_relay.dispatch.detours import Detours
from cdc_relay.dispatch.strict_keys import StrictKeys
from cdc_relay.dispatch.traffic import Traffic
from cdc_relay.dispatch.verdicts import Verdicts
from cdc_relay.model import DROPPED, Dropped, Failure, Record, Unroutable
from cdc_relay.parking.entry import Claim, Outcome, Reason

__all__ = ["Republisher", "RouteAgain"]

RouteAgain = Callable[[Claim], Record | Unroutable | Dropped]

_CLOSED_SECONDS = 5.0  # until a parked record is looked at again whose topic turned out to be closed


class Republisher:
    def __init__(
        self,
        traffic: Traffic,
        claims: Claims,
        *,
        detours: Detours,
        keys: StrictKeys,
        verdicts: Verdicts,
        route_again: RouteAgain,
    ) -> None:
        self._traffic = traffic
        self._claims = claims
        self._detours = detours
        self._keys = keys
        self._verdicts = verdicts
        self._route_again = route_again

    def offer(self, claim: Claim) -> None:
        self._claims.begin(claim)
        record = claim.record or self._route_again(claim)
        if record is DROPPED:
            self._claims.conclude(claim, Outcome.DROPPED)
            return
        if isinstance(record, Unroutable):
            self._verdicts.fail_claim(claim, record.failure)
            return
        claim = claim._replace(topic=record.topic, headers=record.headers, policy=record.policy, record=record)
        if self._detours.is_shut(record.topic) and claim.reason is not Reason.TOPIC_CLOSED:
            self._claims.conclude(claim, Outcome.RELEASED, retry_seconds=_CLOSED_SECONDS)
        elif not claim.keeps_order or self._keys.admit_claim(record, claim):
            self._traffic.hand_out(record, claim)

    def decline(self, claim: Claim) -> None:
        """It was claimed and cannot go out now."""
        self._claims.begin(claim)
        self._claims.release(claim)

    def condemn(self, claim: Claim, failure: Failure) -> None:
        """It is dead without being tried again."""
        self._claims.begin(claim)
        self._verdicts.fail_claim(claim, failure)
