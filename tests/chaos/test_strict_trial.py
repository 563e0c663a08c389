"""A seeded trial of strict order: records that fail, a topic that is not there, kills, restarts, a lot that is cut off
and a broker that freezes, all mixed; in the end every key has everything, in the order of its commits."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fixtures.fix_proxy import MakeProxy, TcpProxy
from tests.fixtures.fix_relay import MakePipeline, RelayProcess
from tests.fixtures.kafka_broker import KafkaBroker
from tests.fixtures.kafka_jars import find_jars
from tests.fixtures.numbered import NARROW, Numbered, dlq
from tests.fixtures.process import wait_until

pytestmark = pytest.mark.real_kafka

STEP_COUNT = 40
KEYS = [f"k{number}" for number in range(6)]
RETRY = {"base": "500ms", "max": "2s", "jitter": 0.2, "max_retries": 3}


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaBroker]:
    jars = find_jars()
    assert isinstance(jars, Path)  # the mark real_kafka has seen to it
    own = KafkaBroker(jars, {"auto.create.topics.enable": False})
    try:
        own.start()
        yield own
    finally:
        own.destroy()


class Storm:
    """What may happen between two commits."""

    def __init__(
        self, relay: RelayProcess, streams: list[Numbered], broker: KafkaBroker, lot: TcpProxy, rng: random.Random
    ) -> None:
        self.relay = relay
        self._streams = streams
        self._broker = broker
        self._lot = lot
        self._rng = rng
        self._number = 0
        self.deeds: list[Callable[[], None]] = [
            self.kill,
            self.restart,
            self.cut_lot,
            self.truncate_lot,
            self.freeze,
            self.narrow,
            self.widen,
            self.retry,
            self.make_topic,
            self.lose_topic,
        ]

    def commit(self) -> None:
        events = self._rng.choice(self._streams)
        count = self._rng.choice([1, 3, 20, 20, 100, 1_500])
        hot = self._rng.random() < 0.2
        rows = [("k0" if hot else self._rng.choice(KEYS), self._number + each) for each in range(count)]
        bad = {number for _, number in rows if self._rng.random() < (0.002 if count > 100 else 0.05)}
        events.commit(rows, bad=bad)
        self._number += count

    def kill(self) -> None:
        self.relay.kill()
        self.relay.start()

    def restart(self) -> None:
        self.relay.wait_ready(timeout=60)
        self.relay.terminate()
        self.relay.wait(90)
        self.relay.start()

    def cut_lot(self) -> None:
        self._lot.cut()

    def truncate_lot(self) -> None:
        self._lot.truncate_after(self._rng.randint(1, 20_000), self._rng.choice(["to_server", "to_client"]))

    def freeze(self) -> None:
        """For as long as some commits take."""
        self._broker.freeze()
        try:
            for _ in range(3):
                self.commit()
        finally:
            self._broker.thaw()

    def narrow(self) -> None:
        self._broker.configure_topic(self._streams[0].topic, max_message_bytes="20000")

    def widen(self) -> None:
        self._broker.configure_topic(self._streams[0].topic, max_message_bytes="200000")

    def retry(self) -> None:
        dlq(self.relay, "retry", "--all", "--yes", may_fail=True)

    def make_topic(self) -> None:
        if self._streams[1].topic not in self._broker.topics():
            self._broker.create_topic(self._streams[1].topic, config=NARROW)

    def lose_topic(self) -> None:
        """Only one that never had a record: what was on a deleted topic cannot be judged."""
        if self._streams[1].topic in self._broker.topics() and not self._streams[1].messages():
            self._broker.delete_topic(self._streams[1].topic)

    def pass_over(self) -> None:
        """Nobody does anything any more: operators repair what is wrong."""
        self.make_topic()
        for events in self._streams:
            self._broker.configure_topic(events.topic, max_message_bytes="200000")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("turn", [1, 2])
def test_strict_order_survives_everything_at_once(
    make_pipeline: MakePipeline, broker: KafkaBroker, make_proxy: MakeProxy, rng: random.Random, turn: int
) -> None:
    pipeline = make_pipeline(kafka=broker, topic_config=NARROW)
    lot = make_proxy("127.0.0.1", pipeline.database.server.port)
    relay = pipeline.start_relay(
        delivery={"ordering": "strict", "on_dead": "hold", "retry": RETRY, "partial_outage_after": "2s"},
        parking={"dsn": pipeline.dsn(port=lot.port)},
    )
    streams = [Numbered(pipeline, broker), Numbered(pipeline, broker, f"later-{pipeline.aggregate_type}")]
    storm = Storm(relay, streams, broker, lot, rng)
    for _ in range(STEP_COUNT):
        storm.commit()
        deed = rng.choice(storm.deeds)
        print(deed.__name__)
        deed()
    storm.pass_over()
    _wait_for_the_end(storm, streams)
    for events in streams:
        events.assert_in_order()
    assert streams[0].sql("SELECT event_id FROM cdc_relay.parked_records GROUP BY 1 HAVING count(*) > 1") == []
    assert relay.is_running
    assert relay.stop() == 0


def _wait_for_the_end(storm: Storm, streams: list[Numbered]) -> None:
    """An operator has the dead retried, as long as there are any."""

    def is_over() -> bool:
        if streams[0].lot().get("dead"):
            storm.retry()
        return not any(events.missing() for events in streams) and set(streams[0].lot()) <= {"published"}

    try:
        wait_until(is_over, timeout=240, every=1.0, what="everything is delivered")
    except TimeoutError as exc:
        missing = [events.missing()[:5] for events in streams]
        raise TimeoutError(f"{exc}; missing {missing}; the lot: {streams[0].lot()}") from None
