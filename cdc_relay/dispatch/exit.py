"""The way out of the lot: who of a claimed batch goes on to the sink, who into quarantine, and who back."""

from __future__ import annotations

from cdc_relay.dispatch.caution import Quarantine
from cdc_relay.dispatch.republisher import Republisher
from cdc_relay.parking.entry import Claim, KeyScope

__all__ = ["Exit"]


class Exit:
    def __init__(self, republisher: Republisher, quarantine: Quarantine) -> None:
        self.is_shut = False  # we are leaving: what is claimed now is given back
        self._republisher = republisher
        self._quarantine = quarantine

    def let_out(self, claims: list[Claim]) -> None:
        suspected: set[KeyScope] = set()  # nobody of a strict key passes one that is in quarantine
        for claim in claims:
            scope = claim.topic, claim.record.key if claim.record is not None else None
            if self.is_shut or (claim.policy.strict and scope in suspected):
                self._republisher.decline(claim)
            elif self._quarantine.wants(claim):
                suspected.add(scope)
                self._quarantine.add(claim)
            else:
                self._republisher.offer(claim)
