"""The stream's records on their way out to the sink, or past it where their topic or their key says so."""

from __future__ import annotations

from cdc_relay.dispatch.culprits import Culprits
from cdc_relay.dispatch.detours import Detours
from cdc_relay.dispatch.entrance import Entrance
from cdc_relay.dispatch.strict_keys import StrictKeys
from cdc_relay.dispatch.traffic import Traffic
from cdc_relay.model import Record, Ticket

__all__ = ["Publisher"]


class Publisher:
    def __init__(
        self, entrance: Entrance, traffic: Traffic, *, culprits: Culprits, detours: Detours, keys: StrictKeys
    ) -> None:
        self._entrance = entrance
        self._traffic = traffic
        self._culprits = culprits
        self._admit = keys.admit
        self._publish = traffic.publish
        self._out = traffic.out
        self._detour_topics = detours.topics

    def offer(self, record: Record, ticket: Ticket) -> None:
        """Once per record of the stream: what is usual is decided and counted here, without a call."""
        topic, culprits = record.topic, self._culprits
        if topic in self._detour_topics or record.size_bytes >= culprits.least_bytes:
            self._detour(record, ticket)
            return
        if record.key is None and culprits.wants_keys:
            self._detour(record, ticket)
            return
        if ticket.policy.strict and not self._admit(record, ticket):
            return
        out = self._out
        count = out.get(topic, 0)
        if not count:
            self._traffic.begin(topic)
        out[topic] = count + 1
        self._publish(record, ticket)

    def _detour(self, record: Record, ticket: Ticket) -> None:
        if record.topic in self._entrance.shelves:
            self._entrance.shelve(record, ticket)
        elif not ticket.policy.strict or self._admit(record, ticket):
            self._traffic.hand_out(record, ticket)
