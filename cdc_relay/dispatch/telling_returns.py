"""In place of Returns where the log has a line for each record that is acknowledged: at level debug."""

from __future__ import annotations

from cdc_relay.dispatch.record_lines import tell_delivered
from cdc_relay.dispatch.returns import Returns
from cdc_relay.sinks.sink import Slip

__all__ = ["TellingReturns"]


class TellingReturns(Returns):
    def _settle_delivered(self, delivered: list[Slip]) -> None:
        for slip in delivered:
            tell_delivered(slip)
        super()._settle_delivered(delivered)
