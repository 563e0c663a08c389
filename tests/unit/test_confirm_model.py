"""The confirm protocol as a whole, in small: every order of what can happen, not the likely ones.

Two invariants, after every action and from every state: nothing unsettled is ever confirmed, and what is settled is
confirmed in the end. Intake, ledger and window are the real ones; around them is the world of confirm_world.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cdc_relay.delivery.intake import Intake
from cdc_relay.delivery.ledger import Ledger
from cdc_relay.delivery.parked import Parked
from tests.unit import confirm_breakages as broken
from tests.unit import confirm_world
from tests.unit.confirm_search import Found, explore
from tests.unit.confirm_world import Scene, ViolationError, World, Write
from tests.unit.frames import EPOCH_US
from tests.unit.native_rig import PYTHON, Twins

NOTHING: frozenset[str] = frozenset()  # else
CRASH = frozenset({"reconnect"})
PARK = frozenset({"park", "park_fails", "park_commits", "park_is_heard"})
IDLE = frozenset({"keepalive", "look", "look_ends"})
GUARD = frozenset({"raise_ceiling", "raise_fails", "raise_commits", "raise_is_heard"})
SLOT = frozenset({"persist", "restart_server", "fail_over"})

SCENES = {
    "records are acknowledged in any order": Scene(
        (Write(10, 2), Write(20, 0), Write(30, 2), Write(40, 2)), NOTHING, window=5, least_states=350
    ),
    "the server is idle in between": Scene((Write(10, 2), Write(20)), IDLE, least_states=4_000),
    "the relay is killed at any point": Scene((Write(10, 2), Write(11, 0), Write(12)), CRASH, least_states=230),
    "records are parked, and the relay is killed": Scene((Write(10), Write(11)), PARK | CRASH, least_states=690),
    "the guard writes its ceiling down": Scene((Write(10), Write(11)), GUARD | CRASH, least_states=150),
    "the publication is changed": Scene((Write(10), Write(20, is_hidden=True)), IDLE | CRASH, least_states=1_400),
    "the slot comes back lower, or on another server": Scene(
        (Write(10), Write(20)),
        CRASH | SLOT,
        other_history=(Write(10), Write(20, time_us=EPOCH_US + 1), Write(25, time_us=EPOCH_US + 1)),
        least_states=780,
    ),
    "messages come between transactions": Scene(
        (Write(10, time_us=0, is_message=True), Write(11), Write(12, time_us=0, is_message=True)),
        CRASH,
        least_states=170,
    ),
    "a message is parked": Scene((Write(10, time_us=0, is_message=True), Write(11)), PARK | CRASH, least_states=630),
    "the server is idle beside lot, guard and slot": Scene(
        (Write(10),), CRASH | IDLE | PARK | GUARD | SLOT, least_states=360
    ),
    "lot, guard and slot together": Scene((Write(10, 0), Write(11)), CRASH | PARK | GUARD | SLOT, least_states=360),
}


def explore_scene(name: str, twins: Twins = PYTHON, make: Callable[[Scene, Twins], World] = World) -> Found:
    return explore(lambda: make(SCENES[name], twins))


@pytest.mark.parametrize("name", SCENES)
def test_in_every_order_only_what_is_settled_is_confirmed_and_all_of_it_in_the_end(name: str, twins: Twins) -> None:
    found = explore_scene(name, twins)
    print(f"{found.state_count} states, {found.transition_count} transitions, up to {found.longest} actions deep")
    assert found.state_count >= SCENES[name].least_states


# --- it can fail

ACKNOWLEDGED = "records are acknowledged in any order"
QUIET = "the server is idle in between"
KILLED = "the relay is killed at any point"
PARKED = "records are parked, and the relay is killed"
GUARDED = "the guard writes its ceiling down"
LOWER = "the slot comes back lower, or on another server"


def break_ledger(monkeypatch: pytest.MonkeyPatch, ledger: type[Ledger]) -> None:
    monkeypatch.setattr("cdc_relay.delivery.intake.make_ledger", lambda _, ceiling_lsn: ledger(ceiling_lsn=ceiling_lsn))


def trust_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrong must then show in the slot and the facts alone, as it would to an operator."""
    monkeypatch.setattr(World, "check_ledger", lambda _: None)
    monkeypatch.setattr(World, "check_report", lambda *_: None)


def name_of(value: object) -> str:
    return value.__name__ if isinstance(value, type) else ""


@pytest.mark.parametrize(
    ("ledger", "name", "complaint"),
    [
        (broken.NewestSettled, ACKNOWLEDGED, "safe is not the settled prefix"),
        (broken.HalfSettled, ACKNOWLEDGED, "safe is not the settled prefix"),
        (broken.FirstOnly, ACKNOWLEDGED, "safe is not the settled prefix"),
        (broken.IdlePassesOpen, QUIET, "safe is not the settled prefix"),
        (broken.ForgetfulOfIdle, QUIET, "safe is not the settled prefix"),
        (broken.KeepsPositions, LOWER, "it does not know what it has received"),
        (broken.OneTooMany, KILLED, "is confirmed and unsettled"),
        (broken.ForgetsCeiling, GUARDED, "beyond the guard's ceiling"),
    ],
    ids=name_of,
)
def test_a_broken_ledger_is_found_out(
    ledger: type[Ledger], name: str, complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_ledger(monkeypatch, ledger)
    with pytest.raises(ViolationError, match=complaint):
        explore_scene(name, make=broken.make_first_world)


@pytest.mark.parametrize(
    ("ledger", "name", "complaint"),
    [
        (broken.NewestSettled, ACKNOWLEDGED, "is confirmed and unsettled"),
        (broken.HalfSettled, ACKNOWLEDGED, "is confirmed and unsettled"),
        (broken.IdlePassesOpen, QUIET, "is confirmed and unsettled"),
        (broken.KeepsPositions, LOWER, "is confirmed and unsettled"),
        (broken.FirstOnly, ACKNOWLEDGED, "is all that is ever confirmed"),
        (broken.ForgetfulOfIdle, QUIET, "is all that is ever confirmed"),
    ],
    ids=name_of,
)
def test_a_broken_ledger_is_found_out_by_what_the_slot_was_told(
    ledger: type[Ledger], name: str, complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_ledger(monkeypatch, ledger)
    trust_ledger(monkeypatch)
    with pytest.raises(ViolationError, match=complaint):
        explore_scene(name, make=broken.make_first_world)


def test_an_idle_position_that_nobody_checked_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confirm_world, "Intake", broken.EagerIntake)
    trust_ledger(monkeypatch)
    with pytest.raises(ViolationError, match="was passed unseen"):
        explore_scene("the publication is changed")


def test_a_record_that_is_settled_before_the_lot_has_it_is_found_out_and_the_way_there_is_told() -> None:
    with pytest.raises(ViolationError, match=r"is confirmed and unsettled\n  after: read, read, park \(10, "):
        explore_scene(PARKED, make=broken.EagerParking)


@pytest.mark.parametrize("answer", [True, False], ids=["everything", "nothing"])
def test_a_lot_that_is_misremembered_is_found_out(answer: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Parked, "has", lambda *_: answer)
    with pytest.raises(ViolationError, match="was published again, or skipped"):
        explore_scene(PARKED)


def test_a_window_that_loses_count_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Intake, "settle", lambda intake, ticket: intake.ledger.settle(ticket.transaction))
    with pytest.raises(ViolationError, match="the window has lost count"):
        explore_scene(KILLED)


def test_an_error_of_the_ledger_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ledger, "confirmable_lsn", property(lambda _: 1 << 63))
    with pytest.raises(ViolationError, match="LedgerError: refusing to confirm"):
        explore_scene(KILLED)
