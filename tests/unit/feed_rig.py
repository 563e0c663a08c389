"""A record in the lot, and its claim when it comes out."""

from __future__ import annotations

from cdc_relay.parking.entry import Claim
from tests.unit.dispatch_rig import BROKEN, Committed, Rig

__all__ = ["parked_rig", "wait_for_claim"]


def parked_rig(topic: str = "calm") -> tuple[Rig, Committed]:
    """One record that failed once, due in a second."""
    rig = Rig()
    committed = rig.write((topic, "k"))
    rig.turn()
    rig.reject(rig.out()[0], BROKEN)
    rig.turn(2)
    return rig, committed


def wait_for_claim(rig: Rig) -> Claim:
    for _ in range(400):
        rig.turn()
        rig.clock.now += 0.05
        if rig.out():
            break
    [claim] = rig.out()
    assert isinstance(claim, Claim)
    return claim
