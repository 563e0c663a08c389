"""What the helper is to write down: gathered while it is busy, in order, and again until it succeeded."""

from __future__ import annotations

from concurrent.futures import Future

import pytest

from cdc_relay.errand import Errand
from cdc_relay.errors import AwayError, LedgerError


class Desk:
    """Remembers what it was asked to write; the test says what came of it."""

    def __init__(self) -> None:
        self.asked: list[list[int]] = []
        self.futures: list[Future[None]] = []
        self.written: list[list[int]] = []
        self.errand = Errand[int]("park", write=self.write, on_written=self.written.append)

    def write(self, batch: list[int]) -> Future[None]:
        self.asked.append(list(batch))
        self.futures.append(Future())
        return self.futures[-1]


def test_nothing_is_done_before_it_is_written() -> None:
    desk = Desk()
    desk.errand.add(1)
    desk.errand.tend(0.0)
    desk.errand.tend(0.1)
    assert (desk.asked, desk.written, desk.errand.is_idle) == ([[1]], [], False)
    desk.futures[0].set_result(None)
    desk.errand.tend(0.2)
    assert (desk.written, desk.errand.is_idle) == ([[1]], True)


def test_what_comes_while_the_helper_is_busy_goes_together_and_in_order() -> None:
    desk = Desk()
    desk.errand.add(1)
    desk.errand.tend(0.0)
    desk.errand.add(2)
    desk.errand.add(3)
    desk.errand.tend(0.1)
    assert desk.asked == [[1]]
    desk.futures[0].set_result(None)
    desk.errand.tend(0.2)
    assert desk.asked == [[1], [2, 3]]


def test_what_was_refused_is_tried_again_a_second_later_and_before_what_came_later() -> None:
    desk = Desk()
    desk.errand.add(1)
    desk.errand.tend(0.0)
    desk.errand.add(2)
    desk.futures[0].set_exception(AwayError("no lot"))
    desk.errand.tend(0.1)
    desk.errand.tend(1.0)
    assert desk.asked == [[1]]
    desk.errand.tend(1.2)
    assert (desk.asked, desk.written) == ([[1], [1, 2]], [])
    desk.futures[1].set_result(None)
    desk.errand.tend(1.3)
    assert (desk.written, desk.errand.is_idle) == ([[1, 2]], True)


def test_what_comes_while_a_refused_batch_waits_joins_it() -> None:
    """One of them may be what takes the batch over the lot's limit."""
    desk = Desk()
    desk.errand.add(1)
    desk.errand.tend(0.0)
    desk.futures[0].set_exception(AwayError("the lot is full"))
    desk.errand.tend(0.1)
    desk.errand.add(2)
    desk.errand.tend(1.2)
    assert desk.asked[1] == [1, 2]


def test_trouble_is_said_until_it_is_over() -> None:
    desk = Desk()
    desk.errand.add(1)
    desk.errand.tend(0.0)
    desk.futures[0].set_exception(AwayError("the lot is full"))
    desk.errand.tend(0.1)
    assert desk.errand.trouble == "the lot is full"
    desk.errand.tend(1.2)
    assert desk.errand.trouble == "the lot is full"
    desk.futures[1].set_result(None)
    desk.errand.tend(1.3)
    assert desk.errand.trouble == ""


def test_how_much_was_added_and_written_can_be_compared() -> None:
    desk = Desk()
    desk.errand.add(1)
    desk.errand.add(2)
    desk.errand.tend(0.0)
    desk.errand.add(3)
    assert (desk.errand.added_count, desk.errand.written_count) == (3, 0)
    desk.futures[0].set_result(None)
    desk.errand.tend(0.1)
    assert (desk.errand.added_count, desk.errand.written_count) == (3, 2)


def test_an_error_that_is_no_absence_is_not_hidden() -> None:
    desk = Desk()
    desk.errand.add(1)
    desk.errand.tend(0.0)
    desk.futures[0].set_exception(LedgerError("a defect"))
    with pytest.raises(LedgerError):
        desk.errand.tend(0.1)


def test_an_errand_without_anything_to_write_asks_nobody() -> None:
    desk = Desk()
    desk.errand.tend(0.0)
    assert desk.asked == []


def test_without_hurry_it_waits_for_more_but_not_for_long() -> None:
    desk = Desk()
    desk.errand.add(1)
    desk.errand.tend(5.0, may_gather=True)
    desk.errand.add(2)
    desk.errand.tend(5.04, may_gather=True)
    assert desk.asked == []
    desk.errand.tend(5.05, may_gather=True)
    assert desk.asked == [[1, 2]]


def test_each_batch_waits_anew() -> None:
    desk = Desk()
    for number in (1, 2):
        desk.errand.add(number)
        desk.errand.tend(float(number), may_gather=True)
        assert len(desk.asked) == number - 1
        desk.errand.tend(number + 0.05, may_gather=True)
        desk.futures[-1].set_result(None)
    assert desk.asked == [[1], [2]]


def test_whoever_is_in_a_hurry_does_not_wait_for_more() -> None:
    desk = Desk()
    desk.errand.add(1)
    desk.errand.tend(5.0, may_gather=True)
    desk.errand.tend(5.01)
    assert desk.asked == [[1]]


def test_what_was_refused_waits_for_its_time_only() -> None:
    desk = Desk()
    desk.errand.add(1)
    desk.errand.tend(0.0)
    desk.errand.add(2)
    desk.futures[0].set_exception(AwayError("no lot"))
    desk.errand.tend(0.1, may_gather=True)
    desk.errand.tend(1.1, may_gather=True)
    assert desk.asked == [[1], [1, 2]]


def test_what_only_waits_for_the_next_look_is_ready() -> None:
    desk = Desk()
    assert not desk.errand.is_ready
    desk.errand.add(1)
    assert desk.errand.is_ready
    desk.errand.tend(0.0)
    desk.errand.add(2)
    assert not desk.errand.is_ready  # the helper is busy, and rings when it is done
    desk.futures[0].set_exception(AwayError("no lot"))
    desk.errand.tend(0.1)
    assert not desk.errand.is_ready  # nothing can be written down before its time


def test_many_do_not_wait_for_more() -> None:
    desk = Desk()
    for number in range(256):
        assert desk.asked == []
        desk.errand.add(number)
        desk.errand.tend(5.0, may_gather=True)
    assert desk.asked == [list(range(256))]
