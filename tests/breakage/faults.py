"""All faults: at least one for each promise that the core keeps, and one that shows on real servers."""

from __future__ import annotations

from tests.breakage.flow_faults import FLOW_FAULTS
from tests.breakage.guard_faults import GUARD_FAULTS
from tests.breakage.message_faults import MESSAGE_FAULTS
from tests.breakage.position_faults import POSITION_FAULTS
from tests.breakage.process_faults import PROCESS_FAULTS
from tests.breakage.retention_faults import RETENTION_FAULTS

__all__ = ["FAULTS", "PROMISES"]

PROMISES = tuple(range(1, 19))
FAULTS = (*POSITION_FAULTS, *FLOW_FAULTS, *PROCESS_FAULTS, *MESSAGE_FAULTS, *GUARD_FAULTS, *RETENTION_FAULTS)
