"""The wish to stop: set in a signal handler, seen by flag and by select()."""

from __future__ import annotations

import os
import select
import signal

from cdc_relay.stop import Stop


def is_heard(stop: Stop) -> bool:
    return bool(select.select([stop.fileno()], [], [], 0)[0])


def test_nothing_is_requested_at_first() -> None:
    stop = Stop()
    assert not stop.requested
    assert not is_heard(stop)


def test_a_request_wakes_whoever_selects() -> None:
    stop = Stop()
    stop.request()
    assert stop.requested
    assert is_heard(stop)


def test_a_request_stays_heard_by_every_later_wait() -> None:
    stop = Stop()
    stop.request()
    assert [is_heard(stop) for _ in range(3)] == [True] * 3


def test_requests_beyond_the_first_cost_nothing() -> None:
    stop = Stop()
    for _ in range(1_000_000):  # a byte for each would fill the socket and block
        stop.request()
    assert is_heard(stop)


def test_a_signal_handler_interrupts_a_long_wait() -> None:
    stop = Stop()
    before = signal.signal(signal.SIGUSR1, lambda number, frame: stop.request())
    try:
        os.kill(os.getpid(), signal.SIGUSR1)
        readable, _, _ = select.select([stop.fileno()], [], [], 30)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert readable


def test_two_wishes_do_not_mix() -> None:
    first, second = Stop(), Stop()
    first.request()
    assert not second.requested
    assert not is_heard(second)
