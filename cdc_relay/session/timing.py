"""How patient a session is."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Timing"]


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds. What the promises say; tests may be less patient."""

    silence: float = 5.0  # half of wal_sender_timeout: a line that says nothing for so long is dead
    status: float = 1.0
    check: float = 10.0
    hold: float = 5.0  # nothing acknowledged for so long: say that we hold
    release: float = 60.0  # holding with a full window for so long: close the line
    drain: float = 30.0
