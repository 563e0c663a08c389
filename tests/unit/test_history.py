"""The oracle sees every planted fault, each as what it is, and nothing in a clean history."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.fixtures.history import Delivery, History, Incident, ParkedRow, Report
from tests.fixtures.history.collector import is_intact

TOPIC = "orders"


class Script:
    """A history written by hand: events a1, a2 … of key a, and their deliveries one after the other."""

    def __init__(self) -> None:
        self.history = History()
        self._offset = 0

    def commit(self, *names: str, upper_lsn: int | None = None) -> Script:
        for name in names:
            self.history.committed(name, name[0], int(name[1:]), upper_lsn=upper_lsn)
        return self

    def roll_back(self, *names: str) -> Script:
        for name in names:
            self.history.rolled_back(name, name[0])
        return self

    def deliver(
        self,
        *names: str,
        at_ms: int | None = 0,
        partition: int = 0,
        key: str | None = None,
        is_intact: bool = True,
        run: str | None = None,
    ) -> Script:
        for name in names:
            delivery = Delivery(name, key or name[0], TOPIC, partition, self._offset, at_ms, is_intact, run)
            self.history.delivered(delivery)
            self._offset += 1
        return self

    def sample(self, confirmed_lsn: int, *, at_ms: float, restart_lsn: int = 0) -> Script:
        self.history.sampled(confirmed_lsn, at_ms, restart_lsn=restart_lsn)
        return self

    def suffer(self, name: str, from_ms: float, to_ms: float, **excuse: bool) -> Script:
        self.history.suffered(Incident(name, from_ms, to_ms, **excuse))
        return self

    def park(self, **statuses: str) -> Script:
        self.history.found_parked(ParkedRow(name, status) for name, status in statuses.items())
        return self

    @property
    def report(self) -> Report:
        return self.history.report()


def fault_names(script: Script) -> set[str]:
    return set(script.report.faults)


def test_a_clean_history_is_clean() -> None:
    script = Script().commit("a1", "b1", upper_lsn=10).roll_back("a7").commit("a2", upper_lsn=20)
    script.deliver("a1", "b1", "a2", at_ms=100).sample(10, at_ms=101).sample(20, at_ms=102)

    report = script.report
    report.assert_clean(allow_duplicates=False)
    assert (report.committed_count, report.delivery_count, report.slot_check_count) == (3, 3, 3)


def test_a_lost_event_is_caught() -> None:
    script = Script().commit("a1", "a2", "a3").deliver("a1", "a3")
    assert [event.id for event in script.report.lost] == ["a2"]
    assert fault_names(script) == {"lost"}


def test_a_delivered_rollback_is_a_phantom() -> None:
    script = Script().commit("a1").roll_back("a2").deliver("a1", "a2")
    assert [(each.delivery.id, each.reason) for each in script.report.phantom] == [("a2", "rolled back")]
    assert fault_names(script) == {"phantom"}


def test_a_delivery_that_nobody_wrote_is_a_phantom() -> None:
    script = Script().commit("a1").deliver("a1", "a2")
    assert [(each.delivery.id, each.reason) for each in script.report.phantom] == [("a2", "never committed")]
    assert fault_names(script) == {"phantom"}


def test_a_duplicate_is_counted_and_is_no_other_fault() -> None:
    script = Script().commit("a1", "a2", "a3").deliver("a1", "a2", "a1", "a2", "a3")
    assert [delivery.id for delivery in script.report.duplicates] == ["a1", "a2"]
    script.report.assert_clean()


def test_duplicates_fail_a_test_that_allows_none() -> None:
    script = Script().commit("a1").deliver("a1", "a1")
    with pytest.raises(AssertionError, match="duplicates: 1"):
        script.report.assert_clean(allow_duplicates=False)


def test_first_deliveries_out_of_order_are_caught() -> None:
    script = Script().commit("a1", "a2", "a3").deliver("a2", "a1", "a3")
    [disorder] = script.report.order_violations
    assert (disorder.earlier.id, disorder.later.id) == ("a1", "a2")
    assert fault_names(script) == {"out of order"}


def test_a_late_first_delivery_among_duplicates_is_out_of_order() -> None:
    script = Script().commit("a1", "a2", "a3").deliver("a1", "a3", "a1", "a2", "a3")
    assert [disorder.earlier.id for disorder in script.report.order_violations] == ["a2"]
    assert fault_names(script) == {"out of order"}


def test_order_is_a_matter_of_one_key() -> None:
    Script().commit("a1", "b1", "a2", "b2").deliver("b1", "b2", "a1", "a2").report.assert_clean()


def test_a_key_that_ends_on_an_old_event_is_stale() -> None:
    script = Script().commit("a1", "a2").deliver("a1", "a2", "a1")
    [stale] = script.report.stale_last
    assert stale.last_committed.id == "a2"
    assert stale.last_delivery is not None
    assert stale.last_delivery.id == "a1"
    assert fault_names(script) == {"stale last"}


def test_a_key_whose_last_event_is_lost_is_stale_as_well() -> None:
    assert fault_names(Script().commit("a1", "a2").deliver("a1")) == {"lost", "stale last"}


def test_a_slot_confirmed_before_the_delivery_is_caught() -> None:
    script = Script().commit("a1", upper_lsn=10).sample(10, at_ms=99.9).deliver("a1", at_ms=100)
    [violation] = script.report.slot_violations
    assert (violation.event.id, violation.sample.confirmed_lsn) == ("a1", 10)
    assert fault_names(script) == {"passed by the slot"}


def test_a_slot_confirmed_beyond_a_lost_event_is_caught() -> None:
    script = Script().commit("a1", upper_lsn=10).commit("a2", upper_lsn=20).sample(15, at_ms=50).deliver("a2", at_ms=1)
    assert [violation.event.id for violation in script.report.slot_violations] == ["a1"]


def test_a_violation_is_seen_though_later_samples_are_innocent() -> None:
    script = Script().commit("a1", upper_lsn=10).deliver("a1", at_ms=100)
    script.sample(30, at_ms=50).sample(12, at_ms=200).sample(40, at_ms=300)
    assert [violation.sample.taken_at_ms for violation in script.report.slot_violations] == [50]


@pytest.mark.parametrize(
    "plant",
    [
        pytest.param(lambda script: script.sample(9, at_ms=1), id="the slot may not have passed it"),
        pytest.param(lambda script: script.sample(10, at_ms=100), id="delivered within the same millisecond"),
        pytest.param(lambda script: script.sample(10, at_ms=150), id="delivered before"),
        pytest.param(lambda script: script.deliver("a1", at_ms=300).sample(10, at_ms=200), id="again afterwards"),
    ],
)
def test_a_slot_violation_is_claimed_only_when_certain(plant: Callable[[Script], Script]) -> None:
    plant(Script().commit("a1", upper_lsn=10).deliver("a1", at_ms=100)).report.assert_clean()


def test_a_sampled_slot_needs_the_brokers_time() -> None:
    script = Script().commit("a1", upper_lsn=10).deliver("a1", at_ms=None).sample(10, at_ms=1)
    with pytest.raises(AssertionError, match="APPEND_TIME"):
        script.report.assert_clean()


def test_another_key_than_the_events_is_garbled() -> None:
    assert fault_names(Script().commit("a1").deliver("a1", key="b")) == {"garbled"}


def test_another_value_than_the_events_is_garbled() -> None:
    assert fault_names(Script().commit("a1").deliver("a1", is_intact=False)) == {"garbled"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b'{"id": "a1", "pad": "xyz"}', True),
        (b'{"id": "a2", "pad": "xyz"}', False),
        (b'{"id": "a1", "pad": "x', False),
        (b'["a1"]', False),
        (None, False),
    ],
)
def test_a_value_is_the_event_s_and_whole(value: bytes | None, expected: bool) -> None:
    assert is_intact(value, "a1") is expected


def test_a_key_on_two_partitions_is_caught() -> None:
    script = Script().commit("a1", "a2").deliver("a1").deliver("a2", partition=1)
    assert script.report.scattered_keys == ["a"]
    assert fault_names(script) == {"on several partitions"}


def test_one_place_on_a_topic_read_twice_is_one_delivery() -> None:
    script = Script().commit("a1")
    for _ in range(2):
        script.history.delivered(Delivery("a1", "a", TOPIC, 0, 0))
    script.report.assert_clean(allow_duplicates=False)


def test_no_verdict_while_a_commit_is_unknown() -> None:
    script = Script()
    script.history.unknown("a1", "a", 1)
    with pytest.raises(RuntimeError, match="1 commits are unknown"):
        script.history.report()


def test_waiting_for_deliveries_names_what_is_missing() -> None:
    script = Script().commit("a1", "a2").deliver("a1")
    with pytest.raises(TimeoutError, match=r"1 are missing.*'a2'"):
        script.history.wait_until_delivered(timeout=0)


def test_the_message_names_each_fault_with_examples() -> None:
    script = Script().commit("a1", "a2", "a3").roll_back("b1").deliver("b1", "a3", "a2")
    with pytest.raises(AssertionError) as caught:
        script.report.assert_clean()
    message = str(caught.value)
    for words in (
        "3 committed, 3 deliveries",
        "lost: 1",
        "phantom: 1",
        "rolled back",
        "out of order: 1",
        "stale last: 1",
    ):
        assert words in message


# --- duplicates and what happened


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


# --- the lot


@pytest.mark.parametrize("status", ["retrying", "behind", "scheduled", "dead"])
def test_an_event_that_waits_in_the_lot_is_not_lost(status: str) -> None:
    report = Script().commit("a1", "a2").deliver("a2").park(a1=status).report
    report.assert_clean()
    assert (report.waiting_count, report.discarded_count) == (1, 0)


@pytest.mark.parametrize("status", ["discarded", "cancelled"])
def test_an_event_that_an_operator_discarded_is_not_lost(status: str) -> None:
    report = Script().commit("a1", "a2").deliver("a2").park(a1=status).report
    report.assert_clean()
    assert (report.waiting_count, report.discarded_count) == (0, 1)


def test_what_the_lot_calls_published_and_nobody_got_is_lost() -> None:
    assert fault_names(Script().commit("a1", "a2").deliver("a2").park(a1="published")) == {"lost"}


@pytest.mark.parametrize("status", ["retrying", "dead", "discarded"])
def test_an_event_that_was_delivered_and_is_in_the_lot_is_in_two_places(status: str) -> None:
    assert fault_names(Script().commit("a1").deliver("a1").park(a1=status)) == {"in two places"}


def test_a_record_that_was_taken_back_in_flight_may_be_on_the_topic() -> None:
    script = Script().commit("a1", upper_lsn=10).deliver("a1", at_ms=100).park(a1="retrying")
    assert fault_names(script.suffer("topic closed", 120, 200)) == {"in two places"}  # it began later
    script.suffer("topic closed", 90, 200).report.assert_clean()


@pytest.mark.parametrize(("parked_at_ms", "names"), [(40, set()), (60, {"passed by the slot"})])
def test_the_slot_may_pass_what_the_lot_has_and_not_before_it_has_it(parked_at_ms: float, names: set[str]) -> None:
    script = Script().commit("a1", upper_lsn=10).sample(10, at_ms=50)
    script.history.found_parked([ParkedRow("a1", "dead", parked_at_ms)])
    assert fault_names(script) == names


def test_a_good_event_that_the_lot_has_given_up_is_caught() -> None:
    script = Script().commit("a1", "b1")
    rows = [ParkedRow("a1", "dead"), ParkedRow("b1", "discarded")]
    script.history.found_parked(rows, is_hopeless=lambda event: event.key == "b")
    assert [event.id for event in script.report.given_up] == ["a1"]
    assert fault_names(script) == {"given up without a reason"}


def test_what_was_delivered_long_after_a_fault_and_is_in_the_lot_is_in_two_places() -> None:
    script = Script().commit("a1", upper_lsn=10).suffer("kill", 10, 20).deliver("a1", at_ms=100).park(a1="dead")
    assert fault_names(script) == {"in two places"}


def test_an_event_with_two_rows_in_the_lot_is_in_two_places() -> None:
    script = Script().commit("a1").suffer("kill", 0, 1000)
    script.history.found_parked([ParkedRow("a1", "published"), ParkedRow("a1", "published")])
    assert fault_names(script.deliver("a1", at_ms=100)) == {"in two places"}


@pytest.mark.parametrize(("parked_at_ms", "names"), [(240, set()), (260, {"in two places"})])
def test_a_replay_may_park_an_event_once_more(parked_at_ms: float, names: set[str]) -> None:
    script = Script().commit("a1").suffer("publication dropped", 200, 250, replays=True)
    script.history.found_parked([ParkedRow("a1", "dead", 100), ParkedRow("a1", "dead", parked_at_ms)])
    assert fault_names(script) == names
