"""A record that kills the process: found by handfuls and then alone, and never taken for one while a broker is away."""

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


def make_notebook(suspects: dict[Identity, int] | None = None, handfuls: dict[Identity, int] | None = None) -> Notebook:
    return Notebook(
        suspects or {}, handfuls or {}, open_note=lambda *_: Future(), close_note=Future, forget_handfuls=Future
    )


def make_caution(deaths: int, budget: int = 10) -> Caution:
    return Caution(Inventory(frozenset(), Survey(), deaths), make_notebook(), budget=budget)


# --- the stream


@pytest.mark.parametrize(("deaths", "is_on"), [(0, False), (1, False), (2, True), (7, True)])
def test_two_deaths_at_one_position_make_cautious(deaths: int, is_on: bool) -> None:
    assert make_caution(deaths).is_on is is_on


def test_caution_ends_when_as_many_have_passed_as_the_dead_run_may_have_had() -> None:
    caution = make_caution(2, budget=3)
    caution.passed(2)
    assert not caution.is_spent
    caution.passed(1)
    assert caution.is_spent


def test_caution_ends_when_nothing_comes_any_more() -> None:
    caution = make_caution(2)
    caution.rest(100.0, 0)
    caution.rest(102.9, 0)
    assert not caution.is_spent
    caution.rest(103.1, 0)
    assert caution.is_spent


def test_a_record_in_between_starts_the_rest_anew() -> None:
    caution = make_caution(2)
    caution.rest(100.0, 0)
    caution.passed(1)
    caution.rest(104.0, 0)
    assert not caution.is_spent


@pytest.mark.parametrize(("identity", "deaths", "is_culprit"), [(HERE, 3, True), (HERE, 2, False), (THERE, 3, False)])
def test_the_culprit_is_the_one_noted_at_three_deaths(identity: Identity, deaths: int, is_culprit: bool) -> None:
    assert make_notebook({identity: deaths}).is_culprit(HERE) is is_culprit


def test_without_a_note_nobody_is_a_culprit() -> None:
    assert not make_notebook().is_culprit(HERE)


def test_a_culprit_is_parked_as_a_crash_with_the_number_of_deaths() -> None:
    failure = make_notebook({HERE: 4, THERE: 1}).sentence(HERE)
    assert (failure.code, failure.error_class) == (CRASH, ErrorClass.CRASH)
    assert "4 times" in failure.reason


# --- handfuls


def make_suspicious(notebook: Notebook, *, confirmed_lsn: int = 0) -> Caution:
    return Caution(Inventory(frozenset(), Survey(), 2, confirmed_lsn=confirmed_lsn), notebook, budget=1000)


def test_records_that_nobody_suspects_go_together() -> None:
    assert make_suspicious(make_notebook()).handful_from(HERE) > 1


@pytest.mark.parametrize("notebook", [make_notebook({HERE: 1}), make_notebook({}, {HERE: 2})], ids=["alone", "first"])
def test_who_was_noted_when_a_run_died_goes_alone(notebook: Notebook) -> None:
    assert make_suspicious(notebook).handful_from(HERE) == 1


def test_all_of_a_handful_at_which_a_run_died_go_alone_and_then_no_more() -> None:
    caution, sizes = make_suspicious(make_notebook({}, {HERE: 3})), []
    for ordinal in range(4):
        sizes.append(caution.handful_from((*HERE[:2], ordinal, 0)))
        caution.passed(1)
    assert sizes[:3] == [1, 1, 1]
    assert sizes[3] > 1


def test_what_the_slot_left_of_a_handful_goes_alone_from_the_beginning() -> None:
    """Its first record was confirmed before the run died, and does not come again."""
    caution = make_suspicious(make_notebook({}, {HERE: 2}), confirmed_lsn=150)
    assert caution.handful_from(THERE) == 1
    caution.passed(2)
    assert caution.handful_from(THERE) > 1


def test_caution_lasts_until_all_of_such_a_handful_have_passed() -> None:
    caution = Caution(Inventory(frozenset(), Survey(), 2), make_notebook({}, {HERE: 5}), budget=3)
    caution.handful_from(HERE)
    caution.passed(4)
    assert not caution.is_spent
    caution.passed(1)
    assert caution.is_spent


def test_a_handful_that_the_slot_has_passed_makes_cautious_for_so_many_records_only() -> None:
    inventory = Inventory(frozenset(), Survey(), handfuls={HERE: 2}, confirmed_lsn=150)
    caution = Caution(inventory, make_notebook({}, inventory.handfuls), budget=1000)
    assert caution.is_on
    caution.passed(2)
    assert caution.is_spent


@pytest.mark.parametrize(("lsn", "are_to_come"), [(99, True), (100, False)])
def test_a_handful_is_to_come_when_its_first_record_is(lsn: int, are_to_come: bool) -> None:
    inventory = Inventory(frozenset([HERE]), Survey(), handfuls={HERE: 2}, confirmed_lsn=lsn)
    assert inventory.has_suspects_to_come is are_to_come


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
    assert not caution.is_spent
    caution.rest(121.0, 500)
    caution.rest(125.0, 500)
    assert caution.is_spent
