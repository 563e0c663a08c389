"""What setup tells while it works: steps, warnings and hints."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = ["Kind", "Notice"]


class Kind(Enum):
    STEP = "step"
    WARNING = "warning"
    HINT = "hint"


@dataclass(frozen=True, slots=True)
class Notice:
    kind: Kind
    text: str
