"""An event is in exactly one place: delivered, waiting in the lot, or discarded."""

from __future__ import annotations

import pytest

from tests.fixtures.history import ParkedRow
from tests.unit.history_script import Script, fault_names


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
