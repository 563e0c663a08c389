"""What waits in the lot for topics that look well again: it goes out first, and then the topic is open."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from cdc_relay.delivery.window import Window
from cdc_relay.dispatch.entrance import Entrance
from cdc_relay.dispatch.outages import ClosedTopic, Phase
from cdc_relay.dispatch.track import Job, Submit, Track
from cdc_relay.parking.lot import Lot

__all__ = ["TopicTracks"]

_TOPIC_BATCH = 1_000  # each is a round trip to the lot, the broker and the lot again


class TopicTracks:
    def __init__(self, lot: Lot, entrance: Entrance, *, submit: Submit, window: Window) -> None:
        self._lot = lot
        self._entrance = entrance
        self._submit = submit
        self._batch = max(1, min(_TOPIC_BATCH, window.record_limit // 2))  # the stream of other topics flows beside it
        self._tracks: dict[str, Track] = {}

    def __iter__(self) -> Iterator[Track]:
        return iter(self._tracks.values())

    @property
    def is_finishing(self) -> bool:
        """The lot is asked whether a topic can be opened."""
        return bool(self._tracks) and any(topic.gate.is_finishing for topic in self._topics())

    @property
    def is_pressed(self) -> bool:
        return bool(self._tracks) and any(topic.is_pressed for topic in self._topics())

    def _topics(self) -> Iterator[ClosedTopic]:
        return (track.topic for track in self._tracks.values() if track.topic is not None)

    def drain(self, topic: ClosedTopic) -> None:
        """A track that is still busy with the topic's last opening goes on with this one."""
        track = self._tracks.setdefault(topic.name, Track(lambda: self._make_job(topic)))
        track.topic = topic

    def tend(self) -> None:
        for name, track in list(self._tracks.items()):
            topic = track.topic
            if track.is_busy or topic is None:
                continue
            gate = topic.gate
            if topic.phase is not Phase.DRAINING:
                del self._tracks[name]  # it was closed again; the next probe starts anew
            elif self._entrance.has_written(gate.claim_after) and not (gate.is_finishing and gate.entering):
                track.ask(self._submit, gate=gate)

    def finish(self, topic: ClosedTopic, *, was_clear: bool) -> bool:
        """The lot gave nothing of it: whether the topic is to be opened now, or only when the lot was asked again."""
        gate = topic.gate
        if was_clear and not gate.entering and gate.is_finishing:
            gate.is_finishing = False
            del self._tracks[topic.name]
            return True
        gate.is_finishing = True
        return False

    def _make_job(self, topic: ClosedTopic) -> Job:
        return partial(self._lot.claim_topic, topic.name, limit=1 if topic.is_trial else self._batch)
