"""What cannot go straight to the sink: of a closed topic, kept back by the cluster, or sent a second time.

A closed topic's records go to its shelf in the lot, and with each what waits for it. What the cluster did not take is
held in memory and sent again, in order: an outage parks nobody.
"""

from __future__ import annotations

from cdc_relay.delivery.gates import Gate, Lanes
from cdc_relay.dispatch.claims import Claims
from cdc_relay.dispatch.culprits import Culprits
from cdc_relay.dispatch.entrance import Entrance
from cdc_relay.dispatch.traffic import Parcel, Traffic
from cdc_relay.model import Failure, Record
from cdc_relay.parking.entry import Claim
from cdc_relay.sinks.sink import Slip

__all__ = ["Detours"]

_RESEND_SECONDS = 1.0  # between two tries of a record that the cluster, not the record, kept from being published


class Detours:
    def __init__(
        self, entrance: Entrance, traffic: Traffic, *, claims: Claims, culprits: Culprits, lanes: Lanes[Parcel]
    ) -> None:
        self.topics: set[str] = set()  # that are closed, or of which some records travel alone
        self._entrance = entrance
        self._shelves = entrance.shelves
        self._traffic = traffic
        self._claims = claims
        self._culprits = culprits
        self._lanes = lanes
        self._held: list[Parcel] = []
        self._held_until = 0.0

    def note(self, topic: str) -> None:
        """Something was learnt about it."""
        if topic in self._shelves or self._culprits.knows(topic):
            self.topics.add(topic)
        else:
            self.topics.discard(topic)

    def is_shut(self, topic: str) -> bool:
        return topic in self._shelves

    # -- sent again

    def tend(self, now: float) -> None:
        if self._held and now >= self._held_until:
            held, self._held = self._held, []
            for record, slip in sorted(held, key=lambda each: each[1].position):
                self.send_again(record, slip)

    def send_again(self, record: Record, slip: Slip, *, alone: bool = False) -> None:
        if record.topic in self._shelves and not isinstance(slip, Claim):
            self.shelve(record, slip)
        else:
            self._traffic.hand_out(record, slip, alone=alone)

    def hold(self, record: Record, slip: Slip) -> None:
        if record.topic in self._shelves:
            self.shelve(record, slip)
            return
        if not self._held:
            self._held_until = self._traffic.now + _RESEND_SECONDS
        self._held.append((record, slip))

    # -- closed topics

    def shut(self, topic: str, failure: Failure) -> Gate:
        shelf = self._shelves.setdefault(topic, Gate())
        self._entrance.shelf_failures[topic] = failure
        self.topics.add(topic)
        returned = self._lanes.withdraw(topic)
        held, self._held = self._held, []
        for record, slip in held:
            if record.topic == topic:
                self.shelve(record, slip)
            else:
                self._held.append((record, slip))
        self._shelve_all(topic, returned)
        return shelf

    def open(self, topic: str) -> None:
        self._shelves.pop(topic, None)
        self._entrance.shelf_failures.pop(topic, None)
        self.note(topic)

    def shelve(self, record: Record, slip: Slip) -> None:
        """One that was out, and with it what waits for it."""
        self._culprits.forget(slip)
        self._lanes.out.pop(slip.position, None)
        waiting = self._lanes.clear((record.topic, record.key)) if slip.keeps_order else []
        self._shelve_all(record.topic, [(record, slip), *waiting])

    def _shelve_all(self, topic: str, returned: list[Parcel]) -> None:
        """They may be older than what the lot has of this topic: nothing of it goes out before they are written."""
        parks = self._entrance.parks
        added_count = parks.added_count
        for record, slip in returned:
            if isinstance(slip, Claim):
                self._claims.release(slip)
            else:
                self._entrance.shelve(record, slip, is_urgent=True)
        if parks.added_count > added_count:
            self._shelves[topic].claim_after = parks.added_count
