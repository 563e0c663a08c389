"""Messages of strict routes: for each key in the order of the stream, behind the one that failed; others never wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.fixtures.fix_kafka import KafkaBroker
from tests.fixtures.fix_relay import MakePipeline, RelayProcess
from tests.fixtures.messages import KINDS, NumberedMessages, start
from tests.fixtures.numbered import NARROW, Numbered, dlq

pytestmark = [pytest.mark.kafka, pytest.mark.real_kafka]

PATIENT = {"base": "10m", "max": "10m", "jitter": 0, "max_retries": 5}
QUICK = {"base": "1s", "max": "1s", "jitter": 0, "max_retries": 1000}
AT_ONCE = {"max_retries": 0}  # what fails is dead
KEYS = ["k0", "k1", "k2"]


@pytest.fixture(params=[True, False], ids=KINDS)
def events(request: pytest.FixtureRequest, make_pipeline: MakePipeline, kafka: KafkaBroker) -> NumberedMessages:
    return NumberedMessages(make_pipeline(topic_config=NARROW), kafka, transactional=request.param)


def strict(retry: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"ordering": "strict", "retry": retry, **more}


def all_keys(first: int, last: int) -> list[tuple[str, int]]:
    return [(KEYS[number % len(KEYS)], number) for number in range(first, last)]


def of_key(key: str, first: int, last: int) -> set[int]:
    return {number for each, number in all_keys(first, last) if each == key}


def widen(events: NumberedMessages, kafka: KafkaBroker) -> None:
    """The cause is gone: the topic takes the large ones too."""
    kafka.configure_topic(events.topic, max_message_bytes="200000")


@pytest.mark.parametrize("per_transaction", [1, 60])
def test_messages_of_a_key_follow_the_failed_one_while_other_keys_flow(
    events: NumberedMessages, kafka: KafkaBroker, per_transaction: int
) -> None:
    relay = start(events.pipeline, delivery=strict(PATIENT))
    for first in range(0, 60, per_transaction):
        events.commit(all_keys(first, first + per_transaction), bad={0})
    waiting = of_key("k0", 0, 60)
    events.wait_until_delivered(without=waiting)
    events.wait_for_lot(retrying=1, behind=len(waiting) - 1)
    assert {number for _, number in events.deliveries()}.isdisjoint(waiting)
    widen(events, kafka)
    dlq(relay, "retry", "--all", "--yes")
    events.wait_until_delivered()
    events.commit(all_keys(60, 66))
    events.wait_until_delivered()
    events.assert_in_order()
    assert events.duplicates() == []
    events.wait_for_lot(published=len(waiting))


def edit_and_retry(events: NumberedMessages, relay: RelayProcess) -> None:
    [(number,)] = events.sql("SELECT id FROM cdc_relay.dead_letters")
    document = dlq(relay, "edit", number, "--print")
    dlq(relay, "edit", number, "--file", "-", "--retry", stdin=document.replace("x" * 20, ""))


def discard(events: NumberedMessages, relay: RelayProcess) -> None:
    [(number,)] = events.sql("SELECT id FROM cdc_relay.dead_letters")
    dlq(relay, "discard", number, "--reason", "a test", "--yes")


@pytest.mark.parametrize(("decide", "lost"), [(edit_and_retry, set()), (discard, {6})], ids=["edit", "discard"])
def test_a_key_is_held_behind_a_dead_message_until_an_operator_decides(
    events: NumberedMessages, decide: Callable[[NumberedMessages, RelayProcess], None], lost: set[int]
) -> None:
    relay = start(events.pipeline, delivery=strict(AT_ONCE, on_dead="hold"))
    events.commit(all_keys(0, 30), bad={6})
    held = of_key("k0", 6, 30)
    events.wait_until_delivered(without=held)
    events.wait_for_lot(dead=1, behind=len(held) - 1)
    assert relay.stop() == 0
    relay.start().wait_ready()
    events.commit(all_keys(30, 33))
    events.wait_for_lot(dead=1, behind=len(held))
    decide(events, relay)
    events.wait_until_delivered(without=lost)
    events.assert_in_order(without=lost)
    assert events.duplicates() == []


def test_a_relay_that_is_killed_again_and_again_keeps_the_order(events: NumberedMessages, kafka: KafkaBroker) -> None:
    relay = start(events.pipeline, delivery=strict(QUICK))
    for first in range(0, 150, 30):
        events.commit(all_keys(first, first + 30), bad={0, 31, 63, 64})
        if first == 90:
            widen(events, kafka)
        relay.kill()
        relay.start()
    events.wait_until_delivered()
    events.assert_in_order()


def test_rows_of_a_key_wait_for_its_message_and_messages_for_its_row(
    make_pipeline: MakePipeline, kafka: KafkaBroker
) -> None:
    """The order is that of a key of a topic, whichever outbox its records come from."""
    messages = NumberedMessages(make_pipeline(topic_config=NARROW), kafka, transactional=True)
    rows = Numbered(messages.pipeline, kafka)
    rows.put = messages.put
    relay = start(messages.pipeline, {"table": "public.outbox"}, delivery=strict(PATIENT))
    messages.commit([("after a message", 0)], bad={0})
    rows.commit([("after a row", 1)], bad={1})
    for number in range(2, 12):
        outbox = messages if number % 2 else rows
        outbox.commit([("after a message", number), ("after a row", number)])
    messages.wait_for_lot(retrying=2, behind=20)
    widen(messages, kafka)
    dlq(relay, "retry", "--all", "--yes")
    messages.wait_until_delivered()
    messages.assert_in_order()
