"""In place of Traffic where the log has a line for each record that is handed to the sink: at level debug."""

from __future__ import annotations

from cdc_relay.dispatch.culprits import Culprits
from cdc_relay.dispatch.record_lines import tell_start
from cdc_relay.dispatch.traffic import Traffic
from cdc_relay.model import Record
from cdc_relay.sinks.sink import Sink, Slip

__all__ = ["TellingTraffic"]


class TellingTraffic(Traffic):
    def __init__(self, sink: Sink, culprits: Culprits) -> None:
        super().__init__(sink, culprits)
        self.publish = self._tell_and_publish
        self.publish_alone = self._tell_and_publish_alone

    def _tell_and_publish(self, record: Record, slip: Slip) -> None:
        tell_start(record, slip)
        self._sink.publish(record, slip)

    def _tell_and_publish_alone(self, record: Record, slip: Slip) -> None:
        tell_start(record, slip)
        self._sink.publish_alone(record, slip)
