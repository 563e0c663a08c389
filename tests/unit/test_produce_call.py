"""How produce() is called: by position only of a client that was seen to take it so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer

from cdc_relay.sinks import produce_call
from cdc_relay.sinks.produce_call import find_call, takes_positions

Sent = dict[str, Any]
TIMED = ("timestamp", "headers")


class FakeProducer:
    """Calls a report when it is purged. `order`: its names for what is behind the partition."""

    def __init__(self, *order: str) -> None:
        self.sent: list[Sent] = []
        self._order = order

    def produce(self, *positions: object, **named: object) -> None:
        if len(positions) > 4 + len(self._order):
            raise TypeError("too many arguments")
        sent = dict(zip(("topic", "value", "key", "partition"), positions, strict=False)) | {"callback": None}
        sent |= {"timestamp": 0, "headers": []} | dict(zip(self._order, positions[4:], strict=False)) | named
        sent["callback"] = named.get("on_delivery") or sent["callback"]
        if not isinstance(sent["timestamp"], int):
            raise TypeError("expected a number")
        if not isinstance(sent["headers"], list):
            raise TypeError("expected a list")
        self.sent.append(sent)

    def purge(self) -> None: ...

    def poll(self, _: float) -> None:
        for sent in self.sent:
            if callable(sent["callback"]):
                sent["callback"]("purged", None)


CALLS: dict[str, Callable[[], object]] = {
    "no other": lambda: FakeProducer("callback", "timestamp", "headers"),
    "of the callback": lambda: FakeProducer("on_delivery", "callback", "timestamp", "headers"),
    "of time and headers": lambda: FakeProducer("callback", "on_delivery", "headers", "timestamp"),
    "something new before them": lambda: FakeProducer("callback", "on_delivery", "new", "timestamp", "headers"),
    "something new between them": lambda: FakeProducer("callback", "on_delivery", "timestamp", "new", "headers"),
    "by name only": lambda: FakeProducer(),
}


def test_the_client_takes_them_by_position() -> None:
    assert takes_positions(Producer({"log_level": "0"}))


def test_the_fake_is_believed_too() -> None:
    """Else the refusals below would show nothing."""
    assert takes_positions(FakeProducer("callback", "on_delivery", "timestamp", "headers"))


@pytest.mark.parametrize("name", CALLS)
def test_another_order_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not ask_client(CALLS[name], monkeypatch)


@pytest.mark.parametrize("error", [ValueError, KafkaException, BufferError, AttributeError])
def test_a_client_that_answers_in_a_way_of_its_own_is_called_by_name(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> object:
        raise error("no such client")

    assert not ask_client(refuse, monkeypatch)


def ask_client(make: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(produce_call, "Producer", lambda _: make())
    return produce_call._client_takes_positions.__wrapped__()


@pytest.mark.parametrize("by_position", [True, False])
def test_both_ways_say_the_same(by_position: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(produce_call, "_client_takes_positions", lambda: by_position)
    fake = FakeProducer("callback", "on_delivery", "timestamp", "headers")
    produce = find_call(fake)  # type: ignore[arg-type]  # its produce() is all that is used
    produce("t", b"v", b"k", 3, print, None, 7, [("h", b"1")])
    [sent] = fake.sent
    first = ("t", b"v", b"k", 3, print, 7, [("h", b"1")])
    assert tuple(sent[name] for name in ("topic", "value", "key", "partition", "callback", *TIMED)) == first
