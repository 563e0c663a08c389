"""What waits in the lot behind a strict key: the next of the key when its record that was out is settled."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from cdc_relay.delivery.gates import Lanes
from cdc_relay.delivery.window import Window
from cdc_relay.dispatch.entrance import Entrance
from cdc_relay.dispatch.track import Submit, Track
from cdc_relay.dispatch.traffic import Parcel, Traffic
from cdc_relay.parking.entry import KeyScope
from cdc_relay.parking.lot import Lot

__all__ = ["KeyTracks"]

_KEY_BATCH = 50
_KEY_COUNT = 4  # keys that the lot is asked for at the same time: what they give is beyond the window
_LOCKED_SECONDS = 0.3


class KeyTracks:
    def __init__(
        self,
        lot: Lot,
        entrance: Entrance,
        *,
        submit: Submit,
        traffic: Traffic,
        lanes: Lanes[Parcel],
        window: Window,
    ) -> None:
        self._lot = lot
        self._entrance = entrance
        self._submit = submit
        self._traffic = traffic
        self._lanes = lanes
        self._window = window
        self._tracks: dict[KeyScope, Track] = {}
        self._finished_at: dict[KeyScope, float] = {}  # when a key last had nothing to give

    def __iter__(self) -> Iterator[Track]:
        return iter(self._tracks.values())

    def follow(self, scope: KeyScope) -> None:
        if scope not in self._tracks:
            # A row that somebody has locked looks like none: do not ask for it without a pause.
            ask_at = self._finished_at.pop(scope, -_LOCKED_SECONDS) + _LOCKED_SECONDS
            job = partial(self._lot.claim_key, *scope, limit=_KEY_BATCH)
            self._tracks[scope] = Track(lambda: job, scope, ask_at=ask_at)

    def tend(self, now: float) -> None:
        asked_count = sum(track.future is not None for track in self)
        for scope, track in list(self._tracks.items()):
            if asked_count >= _KEY_COUNT or (self._window.is_full and self._traffic.out):
                return
            gate = self._entrance.gates.get(scope)
            if track.is_busy or scope in self._lanes or now < track.ask_at:
                continue
            if gate is None or scope[0] in self._entrance.shelves:
                del self._tracks[scope]  # followed again when the topic is open
            elif self._entrance.has_written(gate.claim_after) and not gate.is_finishing:
                track.ask(self._submit, gate=gate)
                asked_count += 1
                self._tracks[scope] = self._tracks.pop(scope)  # the others first, the next time

    def finish(self, scope: KeyScope, now: float) -> None:
        """Nothing of the key can be published now: either the lot has none of it left, or its oldest has to wait."""
        del self._tracks[scope]
        self._finished_at[scope] = now

    def forget(self, scope: KeyScope) -> None:
        """The key is open."""
        self._finished_at.pop(scope, None)
