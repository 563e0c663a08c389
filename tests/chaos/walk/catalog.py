"""All faults of a walk."""

from __future__ import annotations

from tests.chaos.walk.broker_faults import BROKER_FAULTS
from tests.chaos.walk.fault import Fault
from tests.chaos.walk.line_faults import LINE_FAULTS
from tests.chaos.walk.place_faults import DISK_FULL, PLACE_FAULTS
from tests.chaos.walk.postgres_faults import postgres_faults
from tests.chaos.walk.relay_faults import RELAY_FAULTS

__all__ = ["all_faults"]


def all_faults(version: int) -> tuple[Fault, ...]:
    """Those of a server of that version: the same on every machine, or a seed would not mean the same."""
    return (*RELAY_FAULTS, *BROKER_FAULTS, *postgres_faults(version), *LINE_FAULTS, *PLACE_FAULTS, DISK_FULL)
