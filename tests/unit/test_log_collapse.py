"""Errors that repeat themselves: the first is said at once, the rest are counted, and no count is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from structlog import DropEvent

from cdc_relay.logs.collapse import FIRST_SECONDS, KIND_LIMIT, LONGEST_SECONDS, Collapse


class Rig:
    """A collapse, and a clock that only the test moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.said: list[dict[str, Any]] = []
        self.timers: list[tuple[float, Callable[[], None]]] = []
        self.has_threads = True
        self.collapse = Collapse(lambda event: self.said.append(dict(event)), clock=lambda: self.now, later=self._later)

    def log(self, event: str = "outbox_failed", *, level: str = "error", **fields: object) -> None:
        try:
            self.said.append(dict(self.collapse(None, level, {"event": event, "level": level, **fields})))
        except DropEvent:
            return

    def pass_time(self, seconds: float) -> None:
        end = self.now + seconds
        while self.timers and min(self.timers)[0] <= end:
            at, call = min(self.timers, key=lambda timer: timer[0])
            self.timers.remove((at, call))
            self.now = at
            call()
        self.now = end

    def _later(self, seconds: float, call: Callable[[], None]) -> None:
        if not self.has_threads:
            raise RuntimeError("can't start new thread")
        self.timers.append((self.now + seconds, call))

    @property
    def ids(self) -> list[object]:
        return [each["id"] for each in self.said]

    @property
    def total(self) -> int:
        return sum(1 + each.get("repeated", 0) for each in self.said)


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_the_first_is_said_at_once_and_those_after_it_are_not(rig: Rig) -> None:
    for number in range(10):
        rig.log(code="no_route", topic="t", id=number)
    assert rig.ids == [0]


def test_a_summary_comes_although_the_error_stopped(rig: Rig) -> None:
    for number in range(10):
        rig.log(code="no_route", topic="t", id=number)
    rig.pass_time(FIRST_SECONDS)
    assert [(each["id"], each.get("repeated")) for each in rig.said] == [(0, None), (9, 8)]


def test_one_that_was_held_back_alone_is_said_as_it_is(rig: Rig) -> None:
    rig.log(code="c", id=0)
    rig.log(code="c", id=1)
    rig.pass_time(FIRST_SECONDS)
    assert [(each["id"], each.get("repeated")) for each in rig.said] == [(0, None), (1, None)]


def test_every_line_stands_for_itself_and_for_those_it_counts(rig: Rig) -> None:
    for number in range(1000):
        rig.log(code="c", id=number)
        rig.pass_time(0.3)
    rig.collapse.flush()
    assert rig.total == 1000


def test_a_kind_that_goes_on_is_said_less_and_less_often(rig: Rig) -> None:
    for number in range(3600):
        rig.log(code="c", id=number)
        rig.pass_time(1.0)
    assert rig.ids[:6] == [0, 9, 29, 69, 149, 309]
    assert len(rig.said) < 6 + 3600 / LONGEST_SECONDS


def test_a_kind_that_was_quiet_is_new_again(rig: Rig) -> None:
    for number in range(100):
        rig.log(code="c", id=number)
    rig.pass_time(FIRST_SECONDS + 2 * FIRST_SECONDS)
    rig.said.clear()
    rig.log(code="c", id=100)
    rig.log(code="c", id=101)
    rig.pass_time(FIRST_SECONDS)
    assert rig.ids == [100, 101]


@pytest.mark.parametrize("other", [{"topic": "u"}, {"code": "d"}, {"outbox": "public.other"}, {"reason": "otherwise"}])
def test_another_kind_is_not_held_back(rig: Rig, other: dict[str, str]) -> None:
    usual = {"outbox": "public.outbox", "topic": "t", "code": "c", "reason": "so"}
    rig.log(**usual)
    rig.log(**{**usual, **other})
    assert len(rig.said) == 2


@pytest.mark.parametrize("own", [{"event_id": "x"}, {"lsn": "0/2"}, {"attempt": 3}, {"reason": "5001 bytes"}])
def test_what_is_a_records_own_makes_no_other_kind(rig: Rig, own: dict[str, object]) -> None:
    usual: dict[str, Any] = {
        "event_id": "e",
        "lsn": "0/1",
        "attempt": 1,
        "code": "c",
        "reason": "5000 bytes",
    }
    rig.log(**usual)
    rig.log(**{**usual, **own})
    assert len(rig.said) == 1


def test_lines_without_a_code_are_of_one_kind_only_when_they_are_the_same(rig: Rig) -> None:
    rig.log("check", level="warning", name="kafka.topic", found="orders.v1 is missing")
    rig.log("check", level="warning", name="kafka.topic", found="orders.v2 is missing")
    rig.log("check", level="warning", name="kafka.topic", found="orders.v2 is missing")
    assert [each["found"] for each in rig.said] == ["orders.v1 is missing", "orders.v2 is missing"]


@pytest.mark.parametrize("level", ["debug", "info"])
def test_what_is_no_trouble_is_never_held_back(rig: Rig, level: str) -> None:
    for _ in range(10):
        rig.log("state", level=level, state="streaming")
    assert len(rig.said) == 10


def test_endlessly_many_kinds_take_a_bounded_memory_and_are_still_counted(rig: Rig) -> None:
    for number in range(20 * KIND_LIMIT):
        rig.log(code="c", topic=f"topic-{number}", id=number)
    assert len(rig.collapse._runs) <= KIND_LIMIT + 1
    assert len(rig.said) <= KIND_LIMIT + 1
    rig.collapse.flush()
    assert rig.total == 20 * KIND_LIMIT


def test_kinds_of_the_past_make_room_for_new_ones(rig: Rig) -> None:
    for number in range(KIND_LIMIT):
        rig.log(code="c", topic=f"past-{number}", id=number)
    rig.pass_time(LONGEST_SECONDS)
    rig.log(code="c", topic="new", id="first")
    rig.log(code="c", topic="newer", id="second")
    assert rig.ids[-2:] == ["first", "second"]


def test_threads_lose_no_count() -> None:
    rig = Rig()

    def shout() -> None:
        for number in range(2000):
            rig.log(code="c", id=number)

    threads = [threading.Thread(target=shout) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rig.collapse.flush()
    assert rig.total == 8000


def test_where_no_thread_can_be_started_whoever_logs_goes_on_and_no_count_is_lost(rig: Rig) -> None:
    rig.has_threads = False
    for number in range(10):
        rig.log(code="c", id=number)
    rig.collapse.flush()
    assert (rig.ids, rig.total) == ([0, 9], 10)


def test_the_timer_is_set_as_soon_as_threads_can_be_started_again(rig: Rig) -> None:
    rig.log(code="c", id=0)
    rig.has_threads = False
    rig.log(code="c", id=1)
    rig.has_threads = True
    rig.log(code="c", id=2)
    rig.pass_time(FIRST_SECONDS)
    assert (rig.ids, rig.total) == ([0, 2], 3)


def test_a_timer_that_cannot_be_followed_by_another_still_says_what_is_due(rig: Rig) -> None:
    for code in ("c", "d"):
        rig.log(code=code, id=f"first {code}")
        rig.pass_time(1.0)
        rig.log(code=code, id=f"second {code}")
    rig.has_threads = False
    rig.pass_time(FIRST_SECONDS - 2.0)
    assert rig.ids[-1] == "second c"


def test_a_timer_is_started_while_no_other_thread_has_to_wait_for_it() -> None:
    """Starting a thread waits for that thread, which may have to log before it has started."""
    seen: list[bool] = []

    def later(seconds: float, call: Callable[[], None]) -> None:
        thread = threading.Thread(target=lambda: seen.append(collapse._lock.acquire(timeout=30)))
        thread.start()
        thread.join()

    collapse = Collapse(lambda event: None, later=later)
    collapse(None, "", {"event": "e", "level": "error", "code": "c"})
    with pytest.raises(DropEvent):
        collapse(None, "", {"event": "e", "level": "error", "code": "c"})
    assert seen == [True]


def test_the_timer_of_real_life_says_it_too() -> None:
    said = threading.Event()
    collapse = Collapse(lambda event: said.set())
    collapse(None, "", {"event": "e", "level": "error", "code": "c"})
    run = next(iter(collapse._runs.values()))
    run.until -= FIRST_SECONDS - 0.1
    with pytest.raises(DropEvent):
        collapse(None, "", {"event": "e", "level": "error", "code": "c"})
    assert said.wait(30)
