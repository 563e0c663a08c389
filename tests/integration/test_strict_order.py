"""Strict order: for each key the first deliveries are in the order of the commits; others never wait."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.fix_proxy import MakeProxy, TcpProxy
from tests.fixtures.fix_relay import MakePipeline, RelayProcess
from tests.fixtures.kafka_broker import KafkaBroker
from tests.fixtures.kafka_jars import find_jars
from tests.fixtures.numbered import NARROW, Numbered, dlq
from tests.fixtures.process import wait_until

pytestmark = pytest.mark.real_kafka

PATIENT = {"base": "10m", "max": "10m", "jitter": 0, "max_retries": 5}
QUICK = {"base": "1s", "max": "1s", "jitter": 0, "max_retries": 1000}
MORTAL = {"base": "1s", "max": "1s", "jitter": 0, "max_retries": 2}
KEYS = [f"k{number}" for number in range(5)]


@pytest.fixture(scope="module")
def _proxied() -> Iterator[tuple[KafkaBroker, TcpProxy]]:
    """A broker that makes no topics by itself."""
    jars = find_jars()
    assert isinstance(jars, Path)  # the mark real_kafka has seen to it
    proxy = TcpProxy()
    broker = KafkaBroker(jars, {"auto.create.topics.enable": False}, proxy_port=proxy.port)
    proxy.retarget("127.0.0.1", broker.behind_proxy_port)
    try:
        broker.start()
        yield broker, proxy
    finally:
        broker.destroy()
        proxy.close()


@pytest.fixture
def broker(_proxied: tuple[KafkaBroker, TcpProxy]) -> KafkaBroker:
    return _proxied[0]


@pytest.fixture
def kafka_proxy(_proxied: tuple[KafkaBroker, TcpProxy]) -> Iterator[TcpProxy]:
    yield _proxied[1]
    _proxied[1].delay(0)


@pytest.fixture
def events(make_pipeline: MakePipeline, broker: KafkaBroker) -> Numbered:
    return Numbered(make_pipeline(kafka=broker, topic_config=NARROW), broker)


def strict(retry: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"ordering": "strict", "retry": retry, **more}


def all_keys(first: int, last: int) -> list[tuple[str, int]]:
    return [(KEYS[number % len(KEYS)], number) for number in range(first, last)]


def widen(events: Numbered, broker: KafkaBroker) -> None:
    """The cause is gone: the topic takes the large ones too."""
    broker.configure_topic(events.topic, max_message_bytes="200000")


def keys_of(bad: set[int]) -> list[str]:
    return sorted({KEYS[number % len(KEYS)] for number in bad})


@pytest.mark.parametrize(
    "bad", [{50}, {50, 51, 52}, {50, 55, 60, 120}, {0, 1, 2, 3, 4}], ids=["one", "three keys", "one key", "all keys"]
)
@pytest.mark.parametrize("per_transaction", [1, 200])
def test_records_of_a_key_follow_the_failed_one_while_other_keys_flow(
    events: Numbered, broker: KafkaBroker, bad: set[int], per_transaction: int
) -> None:
    relay = events.pipeline.start_relay(delivery=strict(PATIENT))
    for first in range(0, 200, per_transaction):
        events.commit(all_keys(first, first + per_transaction), bad=bad)
    shut = {key: min(n for n in bad if KEYS[n % 5] == key) for key in keys_of(bad)}
    behind = {n for key, n in all_keys(0, 200) if n > shut.get(key, 1000)}
    events.wait_until_delivered(without=bad | behind)
    events.wait_for_lot(retrying=len(shut), behind=len(behind))
    assert {number for _, number in events.deliveries()}.isdisjoint(bad | behind)
    widen(events, broker)
    dlq(relay, "retry", "--all", "--yes")
    events.wait_until_delivered()
    events.wait_for_lot(published=len(shut) + len(behind))  # only then is the key open: a consumer sees them earlier
    events.commit(all_keys(200, 220))
    events.wait_until_delivered()
    events.assert_in_order()
    assert events.duplicates() == []
    assert events.lot() == {"published": len(shut) + len(behind)}


def test_a_dead_record_lets_its_key_go_on_if_the_route_says_so(events: Numbered) -> None:
    """Too large for the topic: given up after the last try. Too large for the producer: at once."""
    events.pipeline.start_relay(delivery=strict(MORTAL), sink={"kafka": {"message.max.bytes": 24_000}})
    events.commit(all_keys(0, 50), bad={10})
    events.wait_until_delivered(without={10})
    events.assert_in_order(without={10})
    assert events.lot() == {"dead": 1}
    assert events.duplicates() == []


def test_a_key_goes_on_after_the_last_try(events: Numbered) -> None:
    events.pipeline.start_relay(delivery=strict(MORTAL))
    events.commit(all_keys(0, 50), bad={10, 15})
    events.commit(all_keys(50, 60), bad={50})
    events.wait_until_delivered(without={10, 15, 50})
    events.assert_in_order(without={10, 15, 50})
    wait_until(lambda: events.lot().get("dead") == 3, timeout=60, what="all three are dead")
    assert events.duplicates() == []


def discard_by_command(events: Numbered, relay: RelayProcess) -> None:
    [(number,)] = events.sql("SELECT id FROM cdc_relay.dead_letters")
    dlq(relay, "discard", number, "--reason", "a test", "--yes")


def discard_by_hand(events: Numbered, relay: RelayProcess) -> None:
    events.tell("UPDATE cdc_relay.parked_records SET status = 'discarded' WHERE status = 'dead'")


def edit_and_retry(events: Numbered, relay: RelayProcess) -> None:
    [(number,)] = events.sql("SELECT id FROM cdc_relay.dead_letters")
    document = dlq(relay, "edit", number, "--print")
    dlq(relay, "edit", number, "--file", "-", "--retry", stdin=document.replace("x" * 20, ""))


@pytest.mark.parametrize(
    ("decide", "lost"),
    [(discard_by_command, {10}), (discard_by_hand, {10}), (edit_and_retry, set())],
    ids=["discard", "discard by SQL", "edit and retry"],
)
@pytest.mark.parametrize("is_restarted", [False, True], ids=["", "after a restart"])
@pytest.mark.parametrize("limit", [200_000, 24_000], ids=["for the topic", "for the producer"])
def test_a_key_is_held_behind_a_dead_record_until_an_operator_decides(
    events: Numbered,
    decide: Callable[[Numbered, RelayProcess], None],
    lost: set[int],
    is_restarted: bool,
    limit: int,
) -> None:
    relay = events.pipeline.start_relay(
        delivery=strict(MORTAL, on_dead="hold"), sink={"kafka": {"message.max.bytes": limit}}
    )
    events.commit(all_keys(0, 50), bad={10})
    events.wait_for_lot(dead=1, behind=7)
    if is_restarted:
        assert relay.stop() == 0
        relay.start().wait_ready()
    events.commit(all_keys(50, 60))
    held = {n for key, n in all_keys(0, 60) if key == "k0" and n >= 10}
    events.wait_until_delivered(without=held)
    events.wait_for_lot(dead=1, behind=9)
    assert {number for _, number in events.deliveries()}.isdisjoint(held)
    decide(events, relay)
    events.wait_until_delivered(without=lost)
    events.commit(all_keys(60, 70))
    events.wait_until_delivered(without=lost)
    events.assert_in_order(without=lost)
    assert events.duplicates() == []


@pytest.mark.parametrize("is_restarted", [False, True], ids=["", "after a restart"])
def test_a_dead_record_that_nobody_waits_for_holds_its_key_all_the_same(events: Numbered, is_restarted: bool) -> None:
    relay = events.pipeline.start_relay(
        delivery=strict(MORTAL, on_dead="hold"), sink={"kafka": {"message.max.bytes": 24_000}}
    )
    events.commit(all_keys(0, 11), bad={10})
    events.wait_for_lot(dead=1)
    if is_restarted:
        assert relay.stop() == 0
        relay.start().wait_ready()
    events.commit(all_keys(11, 20))
    events.wait_for_lot(dead=1, behind=1)
    discard_by_command(events, relay)
    events.wait_until_delivered(without={10})
    events.assert_in_order(without={10})


def test_a_missing_topic_keeps_the_order_of_its_keys_and_others_flow(events: Numbered, broker: KafkaBroker) -> None:
    other = Numbered(events.pipeline, broker, f"later-{events.aggregate_type}")
    events.pipeline.start_relay(delivery=strict(QUICK))
    for first in range(0, 100, 20):
        other.commit(all_keys(first, first + 20), bad={31, 32})
        events.commit(all_keys(first, first + 20))
    events.wait_until_delivered()
    events.wait_for_lot(retrying=100)
    broker.create_topic(other.topic, config=NARROW)
    other.commit(all_keys(100, 120))
    free = {n for key, n in all_keys(0, 120) if key not in ("k1", "k2") or n < 31}
    other.wait_until_delivered(without=set(range(120)) - free)
    widen(other, broker)
    other.commit(all_keys(120, 140))
    other.wait_until_delivered()
    other.assert_in_order()
    events.assert_in_order()


def stop_in_order(relay: RelayProcess) -> None:
    assert relay.stop() == 0
    relay.start().wait_ready()


def kill(relay: RelayProcess) -> None:
    relay.kill()
    relay.start()


@pytest.mark.parametrize("interrupt", [stop_in_order, kill])
def test_a_relay_that_starts_again_keeps_the_order(
    events: Numbered, broker: KafkaBroker, interrupt: Callable[[RelayProcess], None]
) -> None:
    relay = events.pipeline.start_relay(delivery=strict(QUICK))
    for round_ in range(5):
        events.commit(all_keys(round_ * 40, round_ * 40 + 40), bad={20, 21, 90, 131})
        if round_ == 2:
            wait_until(lambda: events.lot().get("behind", 0) > 0, timeout=60, what="some wait behind a failed one")
        interrupt(relay)
        if round_ == 3:
            widen(events, broker)
    events.wait_until_delivered()
    events.assert_in_order()


def test_a_lot_that_is_cut_off_again_and_again_keeps_the_order(
    events: Numbered, broker: KafkaBroker, make_proxy: MakeProxy
) -> None:
    server = events.pipeline.database.server
    proxy = make_proxy("127.0.0.1", server.port)
    parking = {"dsn": events.pipeline.dsn(port=proxy.port)}
    relay = events.pipeline.start_relay(delivery=strict(QUICK), parking=parking)
    for round_ in range(10):
        events.commit(all_keys(round_ * 30, round_ * 30 + 30), bad={20, 21, 90, 131, 220})
        proxy.truncate_after(3_000, "to_server" if round_ % 2 else "to_client")
        if round_ == 5:
            relay.wait_for_log("lot_trouble")
            widen(events, broker)
    proxy.cut()
    events.wait_until_delivered()
    events.assert_in_order()
    wait_until(lambda: set(events.lot()) == {"published"}, timeout=60, what="all are written down as published")
    assert relay.is_running


def test_a_verdict_that_comes_late_finds_the_key_in_order(
    events: Numbered, broker: KafkaBroker, kafka_proxy: TcpProxy
) -> None:
    """While it is under way the key's later records are read, and those of other keys are out."""
    events.pipeline.start_relay(delivery=strict(QUICK), bootstrap=kafka_proxy.address)
    kafka_proxy.delay(0.3)
    events.commit(all_keys(0, 40), bad={5, 6, 12})
    for first in range(40, 60, 5):
        events.commit(all_keys(first, first + 5))
    wait_until(lambda: events.lot().get("behind", 0) >= 3, timeout=60, what="some wait behind a failed one")
    events.commit(all_keys(60, 80))
    widen(events, broker)
    events.commit(all_keys(80, 100))
    events.wait_until_delivered()
    events.assert_in_order()
    assert events.duplicates() == []


@pytest.mark.parametrize("bad", [set(), {0}, {2_500}], ids=["well", "the first fails", "one in the middle fails"])
def test_a_hot_key_ends_and_does_not_keep_the_others(events: Numbered, broker: KafkaBroker, bad: set[int]) -> None:
    """5,000 of one key in one transaction are more than wait in memory: the rest waits in the lot."""
    relay = events.pipeline.start_relay(delivery=strict(QUICK, window={"records": 2_000}))
    events.commit([("hot", number) for number in range(5_000)], bad=bad)
    events.commit([("cold", 0)])
    cold = Numbered(events.pipeline, broker)
    cold.put = {"cold": [0]}
    cold.wait_until_delivered()
    assert len(events.missing()) > len(bad), "the hot key was done first, so nothing was shown"
    widen(events, broker)
    events.commit([("hot", 5_000), ("cold", 1)])
    events.wait_until_delivered(timeout=120)
    events.assert_in_order()
    assert events.duplicates() == []
    wait_until(lambda: set(events.lot()) <= {"published"}, timeout=60, what="all are written down as published")
    events.commit([("hot", 5_001)])
    events.wait_until_delivered()
    assert relay.stop() == 0
    assert "hot" not in json.dumps(events.sql("SELECT topic FROM cdc_relay.parked_records WHERE status = 'behind'"))
