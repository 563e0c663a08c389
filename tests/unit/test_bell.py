"""A bell that one thread rings and another can wait for beside its sockets."""

from __future__ import annotations

import select
import threading
import time

from cdc_relay.bell import Bell

PATIENCE = 30.0


def is_rung(bell: Bell) -> bool:
    return bool(select.select([bell.fileno()], [], [], 0)[0])


def test_a_ring_is_heard_until_it_is_hushed() -> None:
    bell = Bell()
    assert not is_rung(bell)
    bell.ring()
    assert [is_rung(bell), is_rung(bell)] == [True, True]
    bell.hush()
    assert not is_rung(bell)


def test_many_rings_are_one_and_block_nobody() -> None:
    bell = Bell()
    for _ in range(100_000):  # more than the socket takes
        bell.ring()
    while is_rung(bell):
        bell.hush()
    bell.ring()
    assert is_rung(bell)


def test_a_hush_without_a_ring_does_not_wait() -> None:
    Bell().hush()


def test_a_ring_from_another_thread_ends_the_wait() -> None:
    bell, began = Bell(), time.monotonic()
    thread = threading.Thread(target=bell.ring)
    thread.start()
    bell.wait(PATIENCE)
    thread.join()
    assert time.monotonic() - began < PATIENCE


def test_a_wait_for_nobody_ends_by_itself() -> None:
    Bell().wait(0.01)
