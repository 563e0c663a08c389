"""What an incident excuses, and no more: repetitions, keys that end on an old event, replays."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.fixtures.history import ParkedRow
from tests.unit.history_script import Script, fault_names


def killed_at_200() -> Script:
    """a1 was delivered at 100 and comes again at 300; the relay was killed from 200 to 250."""
    script = Script().commit("a1", upper_lsn=10).suffer("kill", 200, 250)
    return script.deliver("a1", at_ms=100).deliver("a1", at_ms=300)


def test_a_duplicate_that_a_fault_explains_is_counted_under_its_name() -> None:
    report = killed_at_200().sample(5, at_ms=150).sample(10, at_ms=400).report
    report.assert_clean()
    assert report.explanations == {"kill": 1}


def test_a_duplicate_without_any_fault_is_caught() -> None:
    script = Script().commit("a1", upper_lsn=10).deliver("a1", "a1", at_ms=100)
    script.history.watch_incidents()
    assert fault_names(script) == {"duplicates without a reason"}


@pytest.mark.parametrize(
    "plant",
    [
        pytest.param(lambda script: script.sample(10, at_ms=150), id="confirmed before the fault"),
        pytest.param(lambda script: script.sample(10, at_ms=280), id="confirmed after the repair, and again"),
        pytest.param(lambda script: script.deliver("a1", at_ms=190), id="came again before the fault"),
    ],
)
def test_a_duplicate_that_the_fault_cannot_have_caused_is_caught(plant: Callable[[Script], Script]) -> None:
    assert fault_names(plant(killed_at_200())) == {"duplicates without a reason"}


def test_what_was_confirmed_may_come_again_only_where_the_slot_may_go_back() -> None:
    for rewinds, names in ((True, set()), (False, {"duplicates without a reason"})):
        script = Script().commit("a1", upper_lsn=10).deliver("a1", at_ms=100).sample(10, at_ms=150)
        script.suffer("crash of Postgres", 200, 250, rewinds=rewinds).sample(5, at_ms=260)
        assert fault_names(script.deliver("a1", at_ms=300)) == names


@pytest.mark.parametrize(
    ("upper_lsn", "moves", "names"),
    [
        pytest.param(10, False, {"duplicates without a reason"}, id="it was on disk"),
        pytest.param(10, True, set(), id="of another server"),
        pytest.param(15, False, set(), id="confirmed since, or written with it: nobody can tell"),
    ],
)
def test_a_slot_does_not_go_back_beyond_what_it_had_on_disk(upper_lsn: int, moves: bool, names: set[str]) -> None:
    script = Script().commit("a1", upper_lsn=upper_lsn).deliver("a1", at_ms=100)
    script.sample(10, at_ms=150, restart_lsn=3).sample(15, at_ms=160, restart_lsn=4).sample(
        20, at_ms=170, restart_lsn=4
    )
    script.suffer("crash of Postgres", 200, 250, rewinds=True, moves=moves).sample(5, at_ms=260, restart_lsn=2)
    assert fault_names(script.deliver("a1", at_ms=300)) == names


def test_what_another_server_had_on_disk_says_nothing() -> None:
    script = Script().commit("a1", upper_lsn=10).deliver("a1", at_ms=100)
    script.sample(10, at_ms=150, restart_lsn=3).sample(15, at_ms=160, restart_lsn=4).sample(
        20, at_ms=170, restart_lsn=4
    )
    script.suffer("failover", 180, 190, rewinds=True, moves=True).sample(5, at_ms=195, restart_lsn=2)
    script.suffer("crash of Postgres", 200, 250, rewinds=True).sample(5, at_ms=260, restart_lsn=2)
    script.deliver("a1", at_ms=300).report.assert_clean()


@pytest.mark.parametrize(
    ("confirmed_lsn", "restart_lsn"), [pytest.param(15, 4, id="nothing since"), pytest.param(9, 5, id="it went back")]
)
def test_a_slot_counts_as_written_only_when_it_is_seen_to_go_on(confirmed_lsn: int, restart_lsn: int) -> None:
    """Its new restart_lsn can be seen a moment before it is on disk."""
    script = Script().commit("a1", upper_lsn=10).deliver("a1", at_ms=100)
    script.sample(10, at_ms=150, restart_lsn=3).sample(15, at_ms=160, restart_lsn=4)
    script.sample(confirmed_lsn, at_ms=170, restart_lsn=restart_lsn)
    script.suffer("crash of Postgres", 200, 250, rewinds=True).sample(5, at_ms=260, restart_lsn=2)
    script.deliver("a1", at_ms=300).report.assert_clean()


def test_a_slot_that_went_back_excuses_nothing_once_it_has_passed_again() -> None:
    script = Script().commit("a1", upper_lsn=10).deliver("a1", at_ms=100).sample(10, at_ms=150)
    script.suffer("crash of Postgres", 200, 250, rewinds=True).sample(5, at_ms=260).deliver("a1", at_ms=300)
    script.sample(10, at_ms=310)
    script.report.assert_clean()
    assert fault_names(script.deliver("a1", at_ms=320)) == {"duplicates without a reason"}


def test_the_newest_fault_that_explains_a_duplicate_is_the_one_that_is_named() -> None:
    script = killed_at_200().suffer("cut", 10, 20).suffer("stop", 260, 270).suffer("later", 900, 950)
    assert script.report.explanations == {"stop": 1}


@pytest.mark.parametrize(("published_at_ms", "names"), [(310, set()), (290, {"duplicates without a reason"})])
def test_a_record_may_come_out_of_the_lot_again_until_it_is_written_down_as_published(
    published_at_ms: float, names: set[str]
) -> None:
    script = killed_at_200().sample(10, at_ms=50)
    script.history.found_parked([ParkedRow("a1", "published", 40, published_at_ms)])
    assert fault_names(script) == names


def test_a_fault_that_breaks_nothing_excuses_no_repetition() -> None:
    script = Script().commit("a1", upper_lsn=10).deliver("a1", at_ms=100).deliver("a1", at_ms=230)
    assert fault_names(script.suffer("columns altered", 200, 250, repeats=False)) == {"duplicates without a reason"}


def test_what_the_slot_had_passed_when_all_was_repaired_has_no_excuse_in_the_calm_after_it() -> None:
    script = killed_at_200().sample(5, at_ms=150).sample(10, at_ms=240)
    assert fault_names(script) == {"duplicates without a reason"}


def test_a_fault_that_was_over_before_an_event_came_does_not_excuse_that_it_comes_twice() -> None:
    script = killed_at_200().sample(10, at_ms=400).commit("b1", upper_lsn=20).deliver("b1", at_ms=410)
    script.report.assert_clean()
    script.deliver("b1", at_ms=420).sample(20, at_ms=500)
    assert [delivery.id for delivery in script.report.unexplained] == ["b1"]


def test_nor_does_it_for_what_comes_out_of_the_lot() -> None:
    script = Script().suffer("kill", 200, 250).commit("a1", upper_lsn=10).deliver("a1", at_ms=300)
    script.history.found_parked([ParkedRow("a1", "published", 290, 400)])
    script.report.assert_clean()
    assert fault_names(script.deliver("a1", at_ms=310)) == {"duplicates without a reason"}


def test_where_the_slot_was_before_a_crash_says_nothing_about_where_it_is_afterwards() -> None:
    script = Script().commit("a1", upper_lsn=10).deliver("a1", at_ms=100).sample(10, at_ms=150)
    script.suffer("crash of Postgres", 200, 250, rewinds=True).deliver("a1", at_ms=260)
    script.report.assert_clean()


@pytest.mark.parametrize(("at_ms", "names"), [(240, set()), (260, {"duplicates without a reason"})])
def test_an_event_whose_place_is_unknown_comes_again_only_while_something_is_broken(
    at_ms: int, names: set[str]
) -> None:
    script = Script().commit("a1").deliver("a1", at_ms=100).suffer("kill", 200, 250)
    assert fault_names(script.deliver("a1", at_ms=at_ms)) == names


# --- keys that end on an old event, and replays


@pytest.mark.parametrize(("leaves_stale", "names"), [(True, set()), (False, {"stale last"})])
def test_only_a_process_that_was_paused_may_leave_a_key_stale(leaves_stale: bool, names: set[str]) -> None:
    script = Script().commit("a1", "a2", upper_lsn=10).deliver("a1", "a2", at_ms=100)
    script.suffer("pause", 50, 250, leaves_stale=leaves_stale).deliver("a1", at_ms=240)
    assert fault_names(script) == names


def test_a_pause_may_leave_a_key_stale_whatever_else_happened_meanwhile() -> None:
    script = Script().commit("a1", "a2", upper_lsn=10).deliver("a1", "a2", at_ms=100)
    script.suffer("pause", 50, 250, leaves_stale=True).suffer("line cut", 60, 250).deliver("a1", at_ms=240)
    script.report.assert_clean()


@pytest.mark.parametrize(("at_ms", "names"), [(240, set()), (260, {"out of order"})])
def test_a_replay_may_be_out_of_order_while_it_runs(at_ms: int, names: set[str]) -> None:
    script = Script().commit("a1", "a2").suffer("publication dropped", 200, 250, replays=True)
    script.deliver("a2", at_ms=100).deliver("a1", at_ms=at_ms, run="r").deliver("a2", at_ms=245, run="r")
    assert fault_names(script) == names


def dropped(*, upper_lsn: int | None = 10, passed: bool = False) -> Script:
    """A publication that was dropped; with `passed` the slot had been past both events."""
    script = Script().commit("a1", "a2", upper_lsn=upper_lsn)
    script = script.deliver("a1", "a2", at_ms=100).sample(10, at_ms=110) if passed else script
    return script.suffer("publication dropped", 200, 250, replays=True)


def test_a_replay_brings_an_event_once_more() -> None:
    dropped(passed=True).deliver("a1", "a2", at_ms=240, run="r").report.assert_clean()


@pytest.mark.parametrize("upper_lsn", [10, None])
@pytest.mark.parametrize("passed", [True, False], ids=["passed by the slot", "of the gap"])
def test_a_run_that_publishes_an_event_twice_has_no_excuse(upper_lsn: int | None, passed: bool) -> None:
    script = dropped(upper_lsn=upper_lsn, passed=passed).deliver("a1", "a2", "a2", at_ms=240, run="r")
    assert fault_names(script) == {"duplicates without a reason"}


def test_two_runs_bring_an_event_twice() -> None:
    dropped().deliver("a1", "a2", at_ms=230, run="r").deliver("a1", "a2", at_ms=240, run="s").report.assert_clean()


def test_the_stream_may_bring_what_a_replay_brought_before() -> None:
    dropped().deliver("a1", "a2", at_ms=230, run="r").deliver("a1", "a2", at_ms=240).report.assert_clean()


def test_a_slot_that_was_past_an_event_does_not_bring_it_beside_a_replay() -> None:
    script = Script().commit("a1", upper_lsn=10).sample(10, at_ms=110).suffer("dropped", 200, 250, replays=True)
    script.deliver("a1", at_ms=230, run="r").deliver("a1", at_ms=240)
    assert "duplicates without a reason" in fault_names(script)


def test_a_replay_may_overtake_the_stream() -> None:
    dropped().deliver("a2", at_ms=230, run="r").deliver("a1", "a2", at_ms=240).report.assert_clean()


def test_a_replay_excuses_no_disorder_of_the_stream() -> None:
    assert fault_names(dropped().deliver("a2", at_ms=220).deliver("a1", at_ms=240)) == {"out of order", "stale last"}


def test_no_disorder_of_the_stream_hides_behind_a_record_of_a_run() -> None:
    script = Script().commit("a1", "a2", "a3", upper_lsn=10).suffer("dropped", 200, 250, replays=True)
    script.deliver("a2", at_ms=220).deliver("a3", at_ms=230, run="r").deliver("a1", "a3", at_ms=240)
    assert [(each.earlier.id, each.later.id) for each in script.report.order_violations] == [("a1", "a2")]


def test_a_replay_leaves_a_key_stale_only_by_its_own_records() -> None:
    dropped(passed=True).deliver("a1", at_ms=240, run="r").report.assert_clean()
    assert "stale last" in fault_names(dropped(passed=True).deliver("a1", at_ms=240))
    never_passed = dropped().deliver("a1", "a2", "a1", at_ms=240)
    assert fault_names(never_passed) == {"stale last"}


def test_a_replay_that_overtook_the_stream_leaves_a_key_stale() -> None:
    dropped().deliver("a1", "a2", at_ms=230, run="r").deliver("a1", at_ms=240).report.assert_clean()
