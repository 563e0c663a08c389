"""A loop that was suspended is told from one that worked hard."""

from __future__ import annotations

import pytest

from cdc_relay.errors import SourceError
from cdc_relay.standstill import Standstill


class Work:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_time_without_work_is_a_standstill_and_is_noticed_once() -> None:
    standstill = Standstill(100.0, 5.0, worked=Work())
    standstill.notice(105.0)
    with pytest.raises(SourceError, match=r"stood still for 5\.5 s"):
        standstill.notice(110.5)
    standstill.notice(111.0)


def test_time_with_work_is_none_while_postgres_waits() -> None:
    work = Work()
    standstill = Standstill(0.0, 5.0, worked=work)
    work.seconds = 8.0
    standstill.notice(10.0)
    work.seconds = 18.5
    with pytest.raises(SourceError, match=r"10\.5 s"):
        standstill.notice(20.5)


def test_what_is_forgiven_counts_neither_as_time_nor_as_work() -> None:
    work = Work()
    standstill = Standstill(0.0, 5.0, worked=work)
    work.seconds = 10.0
    standstill.forgive(20.0)
    with pytest.raises(SourceError, match=r"6\.0 s"):
        standstill.notice(26.0)
