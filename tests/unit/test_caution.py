"""A record that kills the process: found one at a time, and never taken for one while a broker is away."""

from __future__ import annotations

from concurrent.futures import Future

import pytest

from cdc_relay.delivery.failures import CRASH
from cdc_relay.dispatch.caution import Caution, Notebook
from cdc_relay.model import ErrorClass, Identity
from cdc_relay.parking.entry import Inventory, Status, Survey
from tests.unit.dispatch_rig import BROKEN, Rig

HERE: Identity = ("public.outbox", 99, 0, 0)
THERE: Identity = ("public.outbox", 199, 0, 0)


def make_notebook(suspects: dict[Identity, int] | None = None) -> Notebook:
    return Notebook(suspects or {}, open_note=lambda identity: Future(), close_note=lambda: Future())


def make_caution(deaths: int, budget: int = 10) -> Caution:
    return Caution(Inventory(frozenset(), Survey(), deaths), make_notebook(), budget=budget)


# --- the stream


@pytest.mark.parametrize(("deaths", "is_on"), [(0, False), (1, False), (2, True), (7, True)])
def test_two_deaths_at_one_position_make_cautious(deaths: int, is_on: bool) -> None:
    assert make_caution(deaths).is_on is is_on


def test_caution_ends_when_as_many_have_passed_as_the_dead_run_may_have_had() -> None:
    caution = make_caution(2, budget=3)
    caution.passed()
    caution.passed()
    assert caution.is_on
    caution.passed()
    assert not caution.is_on


def test_caution_ends_when_nothing_comes_any_more() -> None:
    caution = make_caution(2)
    caution.rest(100.0, 0)
    caution.rest(102.9, 0)
    assert caution.is_on
    caution.rest(103.1, 0)
    assert not caution.is_on


def test_a_record_in_between_starts_the_rest_anew() -> None:
    caution = make_caution(2)
    caution.rest(100.0, 0)
    caution.passed()
    caution.rest(104.0, 0)
    assert caution.is_on


@pytest.mark.parametrize(("identity", "deaths", "is_culprit"), [(HERE, 3, True), (HERE, 2, False), (THERE, 3, False)])
def test_the_culprit_is_the_one_noted_at_three_deaths(identity: Identity, deaths: int, is_culprit: bool) -> None:
    assert make_notebook({identity: deaths}).is_culprit(HERE) is is_culprit


def test_without_a_note_nobody_is_a_culprit() -> None:
    assert not make_notebook().is_culprit(HERE)


def test_a_culprit_is_parked_as_a_crash_with_the_number_of_deaths() -> None:
    failure = make_notebook({HERE: 4, THERE: 1}).sentence(HERE)
    assert (failure.code, failure.error_class) == (CRASH, ErrorClass.CRASH)
    assert "4 times" in failure.reason


# --- parked records


def suspicious_rig(*topics: str, suspicion: int = 2) -> Rig:
    """Records that failed once and were claimed when two runs died; they are due."""
    rig = Rig()
    rig.write(*[(topic, str(place)) for place, topic in enumerate(topics)])
    rig.turn()
    for slip in rig.out():
        rig.sink.reject(slip, BROKEN)
    rig.turn(2)
    for row in rig.lot.rows.values():
        row.suspicion = suspicion
    rig.clock.now += 2
    return rig


def test_a_claim_that_was_out_at_one_death_is_published_with_the_others() -> None:
    rig = suspicious_rig("calm", "calm", suspicion=1)
    rig.turn(3)
    assert len(rig.out()) == 2
    assert "open_note" not in rig.lot.calls


def test_claims_that_were_out_at_several_deaths_go_out_one_at_a_time_each_noted_before() -> None:
    rig = suspicious_rig("calm", "calm")
    rig.turn(5)
    assert (len(rig.out()), rig.lot.calls.count("open_note"), rig.lot.run.note is None) == (1, 1, False)
    rig.run(2)
    assert (len(rig.out()), rig.lot.calls.count("open_note")) == (2, 2)


def test_a_note_is_closed_soon_although_the_broker_does_not_answer() -> None:
    rig = suspicious_rig("calm")
    rig.run(1)
    assert len(rig.out()) == 1
    assert rig.lot.run.note is None


def test_nothing_goes_out_whose_note_could_not_be_written() -> None:
    rig = suspicious_rig("calm")
    rig.lot.away.add("open_note")
    rig.run(3)
    assert rig.out() == []
    rig.lot.away.clear()
    rig.run(3)
    assert len(rig.out()) == 1


def test_a_parked_record_that_was_noted_at_three_deaths_is_dead_without_another_try() -> None:
    rig = suspicious_rig("calm")
    for _ in range(3):
        rig.run(0.15, step=0.02)
        assert len(rig.out()) == 1
        assert rig.lot.run.note is not None
        rig.restart(died=True)
    rig.run(1)
    [row] = rig.lot.rows.values()
    assert row.failure is not None
    assert (row.status, row.failure.code) == (Status.DEAD, CRASH)
    assert rig.numbers() == [1] * 4  # once from the stream, three times from the lot


def test_deaths_while_waiting_for_a_broker_make_nobody_a_culprit() -> None:
    rig = suspicious_rig("calm")
    for _ in range(6):
        rig.run(2)
        assert len(rig.out()) == 1
        rig.restart(died=True)
    rig.sink.eager = True
    rig.run(3)
    [row] = rig.lot.rows.values()
    assert row.status is Status.PUBLISHED


def test_nobody_of_a_strict_key_passes_one_that_is_in_quarantine() -> None:
    rig = Rig()
    rig.write(*[("strict", "k")] * 3)
    rig.turn()
    rig.reject(rig.out()[0], BROKEN)
    rig.turn(2)
    head, second, _ = rig.lot.rows.values()
    head.suspicion = 0
    second.suspicion = 2
    rig.sink.eager = True
    rig.run(10)
    assert [slip.ordinal for slip in rig.sink.accepted] == [0, 1, 2]
    assert rig.lot.live() == []


def test_rest_is_no_rest_while_the_server_is_still_reading() -> None:
    """Re-reading WAL from far back takes longer than a moment, and the culprit may be at its end."""
    caution = Caution(Inventory(frozenset(), Survey(), deaths=2, end_lsn=500), make_notebook(), budget=10)
    for now in (100.0, 110.0, 120.0):
        caution.rest(now, 499)
    assert caution.is_on
    caution.rest(121.0, 500)
    caution.rest(125.0, 500)
    assert not caution.is_on
