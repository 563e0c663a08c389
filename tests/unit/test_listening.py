"""A busy port: only warned of while standing by, insisted on afterwards, refused in the end."""

from __future__ import annotations

import pytest

from cdc_relay.errors import RefusedError
from cdc_relay.http import listening
from cdc_relay.http.listening import Listening
from cdc_relay.stats import Stats
from cdc_relay.stop import Stop


class BusyPort:
    """Free at the start after so many."""

    def __init__(self, busy_count: int) -> None:
        self.left = busy_count
        self.is_closed = False

    def start(self) -> bool:
        self.left -= 1
        return self.left < 0

    def close(self) -> None:
        self.is_closed = True


def make(monkeypatch: pytest.MonkeyPatch, busy_count: int) -> tuple[Listening, BusyPort, Stop]:
    port, stop = BusyPort(busy_count), Stop()
    monkeypatch.setattr(listening, "HttpServer", lambda address, stats: port)
    return Listening(("127.0.0.1", 9464), stats=Stats(), stop=stop), port, stop


def wait_until_done(found: Listening) -> None:
    assert found._insisting is not None
    found._insisting.join(60)
    assert not found._insisting.is_alive()


def test_without_an_address_there_is_nothing_to_do() -> None:
    found = Listening(None, stats=Stats(), stop=Stop())
    found.offer()
    found.insist()
    found.raise_refusal()
    found.close()


def test_a_busy_port_is_only_warned_of_while_standing_by(monkeypatch: pytest.MonkeyPatch) -> None:
    found, port, _ = make(monkeypatch, busy_count=1)
    found.offer()
    found.raise_refusal()
    assert port.left == 0
    found.close()
    assert port.is_closed


def test_a_port_that_becomes_free_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    found, port, _ = make(monkeypatch, busy_count=2)
    found.insist()
    found.insist()  # once is enough
    wait_until_done(found)
    found.raise_refusal()
    assert port.left == -1


def test_a_port_that_stays_busy_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "_PORT_PATIENCE_SECONDS", 0.0)
    found, _, _ = make(monkeypatch, busy_count=1_000_000)
    found.insist()
    wait_until_done(found)
    with pytest.raises(RefusedError, match=r"127\.0\.0\.1:9464 is in use by another process"):
        found.raise_refusal()


def test_who_is_stopped_insists_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _, stop = make(monkeypatch, busy_count=1_000_000)
    stop.request()
    found.insist()
    wait_until_done(found)
    found.raise_refusal()
