"""How often the loop looks, and what it does with records that wait to fill a batch."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cdc_relay.model import Policy
from cdc_relay.routing.outbox import DEFAULT_TOPIC, Route
from cdc_relay.session.pace import Pace
from tests.unit import frames
from tests.unit.session_rig import OUTBOX, SessionRig, row, transaction

SECOND_US = 1_000_000
LATE = {"sent_us": frames.EPOCH_US + 2 * SECOND_US, "time_us": frames.EPOCH_US}
STRICT = replace(OUTBOX, routes=(Route(DEFAULT_TOPIC, Policy("strict", strict=True)),))


class Time:
    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def test_a_look_at_once_after_another_waits() -> None:
    time = Time()
    pace = Pace(time, time.sleep)
    pace.wait_for_next()
    time.now += 0.001
    pace.wait_for_next()
    assert time.slept[1:] == [pytest.approx(0.002)]


def test_a_row_that_comes_alone_waits_for_nobody() -> None:
    time = Time()
    pace = Pace(time, time.sleep)
    time.now += 1.0
    assert pace.wait_for_next() == time.now
    assert time.slept == []


def test_with_more_to_read_there_is_no_waiting() -> None:
    time = Time()
    pace = Pace(time, time.sleep)
    pace.is_hurried = True
    pace.wait_for_next()
    pace.wait_for_next()
    assert time.slept == []


def test_behind_what_is_read_is_gathered_and_the_end_of_a_burst_is_sent() -> None:
    """Else its last records would wait for linger.ms: the lag of their transaction still says "behind"."""
    rig = SessionRig(frames.begin(99, **LATE), frames.relation(), row(1), frames.commit(100, **LATE))
    rig.turn()
    assert (len(rig.sink.published), rig.sink.flush_count) == (1, 0)
    rig.turn()
    assert rig.sink.flush_count == 1


def test_a_keepalive_says_that_nothing_is_behind() -> None:
    late = frames.begin(99, **LATE), frames.relation(), row(1), frames.commit(100, **LATE)
    rig = SessionRig(*late, frames.keepalive(200))
    rig.turn()
    assert rig.sink.flush_count == 1


def test_behind_a_row_that_comes_in_parts_is_not_the_end_of_a_burst() -> None:
    rig = SessionRig(frames.begin(99, **LATE), frames.relation(), row(1))
    rig.turn()
    rig.stream.is_receiving = True
    rig.turn(5)
    assert rig.sink.flush_count == 0
    rig.stream.is_receiving = False
    rig.turn()
    assert rig.sink.flush_count == 1


def large_row(number: int) -> bytes:
    return frames.insert(str(number).encode(), b"order", b"k", b"Placed", b"x" * 600_000)


def full_rig() -> SessionRig:
    """Two rows fill its window, and some request."""
    rig = SessionRig(frames.begin(99), frames.relation(), *map(large_row, range(1, 5)))
    rig.turn()
    assert (len(rig.sink.open), rig.intake.window.is_full) == (2, True)
    rig.sink.waits.clear()
    return rig


def test_with_a_full_window_what_is_out_makes_room_before_anything_is_flushed() -> None:
    rig = full_rig()
    for slip in list(rig.sink.open):
        rig.sink.acknowledge(slip)
    rig.turn()
    assert rig.sink.waits == [("poll", 0.001)]
    rig.turn()
    assert len(rig.sink.published) == 4


def test_with_a_full_window_of_which_nothing_comes_what_lingers_is_flushed_for_a_moment() -> None:
    rig = full_rig()
    rig.turn()
    assert rig.sink.waits == [("poll", 0.001), ("flush", 0.002), ("poll", 0.005)]


def test_a_window_that_is_full_of_less_than_a_request_is_flushed_at_once() -> None:
    rig = SessionRig(*transaction(100, 1, 2, 3), records=2)
    rig.turn()
    assert rig.sink.waits == [("flush", 0.005)]


def test_a_strict_key_is_flushed_at_once_though_the_window_is_full() -> None:
    rig = SessionRig(frames.begin(99), frames.relation(), large_row(1), large_row(2), outbox=STRICT)
    rig.turn()
    assert (len(rig.sink.open), rig.intake.window.is_full) == (1, True)
    assert rig.sink.waits == [("flush", 0.005)]


BAD_ROW = frames.insert(b"bad", None, b"k", b"Placed", b"{}")


def late_bad_row(end_lsn: int) -> list[bytes]:
    return [frames.begin(end_lsn - 1, **LATE), frames.relation(), BAD_ROW, frames.commit(end_lsn, **LATE)]


def test_behind_what_is_to_be_parked_is_gathered_and_at_the_end_of_a_burst_it_is_written() -> None:
    rig = SessionRig(*late_bad_row(100))
    began = rig.clock.now
    rig.turn()
    rig.stream.frames.extend(late_bad_row(200))
    rig.turn()
    assert rig.lot.rows == {}
    rig.turn()
    assert (len(rig.lot.rows), rig.lot.calls.count("park")) == (2, 1)
    assert rig.clock.now < began + 0.02  # it was the end of the burst that wrote them, not a clock


def test_a_bad_row_that_comes_alone_is_parked_in_the_turn_that_read_it() -> None:
    rig = SessionRig(*transaction(100, 1), eager=True)
    rig.run_until(2)
    before = rig.clock.now
    rig.stream.frames.extend([frames.begin(199), BAD_ROW, frames.commit(200)])
    rig.turn()
    assert len(rig.lot.rows) == 1
    assert rig.clock.now < before + 0.02


def test_a_stop_waits_for_what_is_gathered() -> None:
    rig = SessionRig(*late_bad_row(100), answer=frames.keepalive(100))
    rig.turn()
    assert rig.lot.rows == {}
    assert rig.session.part(10) == 0
    assert (len(rig.lot.rows), rig.confirmed) == (1, 100)


def test_a_window_that_is_full_of_what_is_to_be_parked_waits_for_no_more() -> None:
    rig = SessionRig(*late_bad_row(100), *late_bad_row(200), *late_bad_row(300), records=2)
    rig.turn()
    assert len(rig.lot.rows) == 2
