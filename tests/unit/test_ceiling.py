"""The guard's ceiling: nothing is confirmed above it, it rises on its clocks, and an idle database gets its rest."""

from __future__ import annotations

import itertools
from concurrent.futures import Future

import pytest

from cdc_relay.delivery.ledger import Ledger
from cdc_relay.errors import AwayError, SourceError
from cdc_relay.session.ceiling import Ceiling
from tests.unit.fakes import FakeGuard

LARGE = 1 << 20


class Rig:
    def __init__(self) -> None:
        self.ledger = Ledger(ceiling_lsn=100)
        self.guard = FakeGuard()
        self.ceiling = Ceiling(self.ledger, self.guard, now=0.0)

    def settle(self, lsn: int) -> None:
        transaction = self.ledger.begin(commit_lsn=lsn - 1, commit_time_us=0, xid=1)
        self.ledger.add()
        self.ledger.commit(lsn)
        self.ledger.settle(transaction)

    def pass_time(self, begin: float, end: float) -> list[float]:
        """When it was raised, looked at ten times a second."""
        times = []
        for tick in range(int(begin * 10), int(end * 10)):
            before = len(self.guard.ceilings)
            self.ceiling.tend(tick / 10)
            times += [tick / 10] * (len(self.guard.ceilings) - before)
        return times


def test_nothing_is_reported_above_the_ceiling_before_it_is_written_down() -> None:
    rig = Rig()
    rig.guard.slow = []
    rig.settle(200)
    rig.ceiling.tend(0.0)
    assert (rig.guard.ceilings, rig.ledger.report()) == ([200], 100)
    rig.guard.slow[0].set_result(None)
    assert rig.ceiling.tend(0.1)
    assert rig.ledger.report() == 200


def test_what_was_settled_while_a_raise_was_under_way_waits_for_the_next_one() -> None:
    rig = Rig()
    rig.guard.slow = []
    rig.settle(200)
    rig.ceiling.tend(0.0)
    rig.settle(300)
    rig.guard.slow[0].set_result(None)
    rig.ceiling.tend(0.1)
    assert rig.ledger.report() == 200


def test_a_ceiling_from_before_allows_what_is_below_it_at_once() -> None:
    rig = Rig()
    rig.settle(90)
    assert (rig.ledger.report(), rig.pass_time(0, 30)) == (90, [])


def test_settled_records_raise_it_once_a_second() -> None:
    rig = Rig()
    times: list[float] = []
    for tick in range(100):
        rig.settle(200 + tick)
        times += rig.pass_time(tick / 10, (tick + 1) / 10)
    assert times[0] == 0.0
    assert all(later - earlier >= 1.0 for earlier, later in itertools.pairwise(times))
    assert len(times) == 10


def test_positions_without_records_raise_it_once_in_ten_seconds() -> None:
    rig = Rig()
    times: list[float] = []
    for second in range(60):
        rig.ledger.idle(200 + second * LARGE)
        times += rig.pass_time(second, second + 1)
    assert all(later - earlier >= 10.0 for earlier, later in itertools.pairwise(times))
    assert len(times) in (5, 6)


def test_what_may_be_its_own_wal_raises_it_less_and_less_often() -> None:
    rig = Rig()
    for second in range(3600):
        rig.ledger.idle(200 + len(rig.guard.ceilings) * 300)  # each raise moves the WAL by its own commit
        rig.pass_time(second, second + 1)
    assert len(rig.guard.ceilings) < 15


@pytest.mark.parametrize("others", ["a record", "a large move"])
def test_after_a_rest_it_does_not_wait_longer_than_before(others: str) -> None:
    rig = Rig()
    for second in range(1000):
        rig.ledger.idle(200 + len(rig.guard.ceilings) * 300)
        rig.pass_time(second, second + 1)
    rig.guard.ceilings.clear()
    if others == "a record":
        rig.settle(LARGE)
        assert rig.pass_time(1000, 1002)
    else:
        rig.ledger.idle(LARGE)
        assert rig.pass_time(1000, 1011)


def test_a_guard_in_trouble_confirms_nothing_says_why_and_is_tried_again() -> None:
    rig = Rig()
    rig.guard.trouble = AwayError("no right")
    rig.settle(200)
    times = rig.pass_time(0, 60)
    assert 6 <= len(times) <= 9  # less and less often: the lot needs the helper, too
    assert (rig.ceiling.trouble, rig.ledger.report()) == ("no right", 100)
    rig.guard.trouble = None
    rig.pass_time(60, 71)
    assert (rig.ceiling.trouble, rig.ledger.report()) == ("", 200)


def test_a_row_that_is_not_ours_any_more_ends_the_session() -> None:
    rig = Rig()
    rig.guard.trouble = SourceError("gone")
    rig.settle(200)
    rig.ceiling.tend(0.0)
    with pytest.raises(SourceError):
        rig.ceiling.tend(0.1)


def test_urged_it_waits_for_no_clock() -> None:
    rig = Rig()
    rig.settle(200)
    rig.pass_time(0, 0.2)
    rig.settle(300)
    rig.ceiling.urge()
    assert rig.pass_time(0.2, 0.3) == [0.2]


def test_only_one_raise_is_under_way() -> None:
    rig = Rig()
    rig.guard.slow = waiting = list[Future[None]]()
    rig.settle(200)
    rig.pass_time(0, 30)
    assert len(waiting) == 1
