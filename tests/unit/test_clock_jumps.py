"""Clocks that jump: the wall clock is set, or the process sleeps with its machine. Postgres' clock decides what is due,
and the loop's own clock never goes back."""

from __future__ import annotations

import pytest

from cdc_relay.counters import Latency
from cdc_relay.errors import SourceError
from cdc_relay.parking.entry import Status
from tests.unit.dispatch_rig import BROKEN, Rig
from tests.unit.session_rig import SessionRig, transaction

HOUR = 3600.0


def set_wall_clock(rig: Rig, seconds: float) -> None:
    """Wrong by so much from now on; the lot keeps Postgres' time."""
    rig.dispatch.feed._due._wall_clock = lambda: rig.clock.now + seconds


@pytest.mark.parametrize("jump", [-HOUR, HOUR], ids=["back", "ahead"])
def test_a_scheduled_record_goes_out_when_postgres_says_so(jump: float) -> None:
    rig = Rig(eager_sink=True)
    set_wall_clock(rig, jump)
    committed = rig.write(("calm", "k"), due_in=30.0)
    rig.run(29)
    assert rig.sink.published == []
    rig.run(15)  # a survey tells within 10 s
    assert rig.row(committed).status is Status.PUBLISHED


def test_a_wall_clock_that_is_ahead_does_not_make_the_relay_ask_without_end() -> None:
    rig = Rig(eager_sink=True)
    set_wall_clock(rig, HOUR)
    rig.write(("calm", "k"), due_in=60.0)
    asked: list[float] = []
    rig.jobs.on_done = lambda: asked.append(rig.clock.now)
    rig.run(20, step=0.01)
    assert len(asked) < 60


def test_a_retry_is_not_moved_by_the_wall_clock() -> None:
    rig = Rig()
    committed = rig.write(("calm", "k"))
    rig.turn()
    rig.reject(rig.out()[0], BROKEN)
    set_wall_clock(rig, -HOUR)
    rig.sink.eager = True
    rig.run(10)
    assert rig.row(committed).status is Status.PUBLISHED


@pytest.mark.parametrize("jump", [6.0, HOUR, 100 * HOUR])
def test_a_machine_that_slept_confirms_nothing_more_on_its_line_and_publishes_nothing(jump: float) -> None:
    rig = SessionRig(*transaction(100, 1))
    rig.turn(2)
    rig.clock.now += jump
    rig.stream.frames.extend(transaction(200, 2))
    with pytest.raises(SourceError, match="stood still"):
        rig.turn()
    assert (len(rig.sink.published), rig.confirmed) == (1, 0)


def test_a_commit_from_the_future_is_counted_as_no_delay() -> None:
    """The database server's clock is ahead of ours."""
    latency = Latency()
    latency.add([2_000_000], now_us=1_000_000)
    assert (latency.buckets[0], latency.sum_us) == (1, 0)
