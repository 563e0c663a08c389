"""A topic that is closed, and one of its records in the lot."""

from __future__ import annotations

from tests.unit.dispatch_rig import MISSING, Rig

__all__ = ["closed_rig"]


def closed_rig(*, eager: bool = True, records: int = 100) -> Rig:
    """`calm` is missing and was found to be so; record 1 waits for it."""
    rig = Rig(records=records)
    rig.sink.sick_topics["calm"] = MISSING
    rig.write(("calm", "a"))
    rig.turn()
    rig.reject(rig.out()[0], MISSING)
    rig.turn(2)
    rig.sink.eager = eager
    return rig
