"""While behind, what is parked is gathered: but not where somebody waits for it."""

from __future__ import annotations

import pytest

from tests.unit.dispatch_rig import BROKEN, Rig


def look_behind(rig: Rig) -> None:
    """A turn's last part, of a loop that is behind."""
    rig.dispatch.tend(rig.clock.now, may_claim=True, is_behind=True)


def read(rig: Rig, *events: tuple[str, str | None]) -> None:
    rig.write(*events)
    rig._gulp(500)


def test_what_is_parked_is_gathered() -> None:
    rig = Rig()
    read(rig, ("nowhere", "a"))
    look_behind(rig)
    assert rig.lot.rows == {}
    rig.clock.now += 0.05
    look_behind(rig)
    assert len(rig.lot.rows) == 1


def test_what_goes_behind_a_shut_key_is_written_down_at_once() -> None:
    """The key opens when the lot has none of it: with one always on its way it would stay shut."""
    rig = Rig()
    rig.write(("strict", "a"))
    rig.turn(2)
    rig.reject(rig.sink.open[0], BROKEN)
    assert len(rig.lot.rows) == 1
    read(rig, ("strict", "a"))
    look_behind(rig)
    assert len(rig.lot.rows) == 2


def test_while_a_door_is_about_to_open_nothing_is_gathered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is read meanwhile, so nothing more would come."""
    rig = Rig()
    read(rig, ("nowhere", "a"))
    monkeypatch.setattr(type(rig.feed), "is_finishing", True)
    look_behind(rig)
    assert len(rig.lot.rows) == 1
