"""The oracle sees every planted fault, each as what it is, and nothing in a clean history."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.fixtures.history import Delivery
from tests.fixtures.history.collector import is_intact
from tests.unit.history_script import TOPIC, Script, fault_names


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
