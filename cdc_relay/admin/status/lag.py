"""How far the slot is behind, in bytes and in seconds, and whether the seconds are measured or only a bound. Pure."""

from __future__ import annotations

from cdc_relay.admin.status.report import Guard, Lag, Relay, Slot

__all__ = ["find_lag"]


def find_lag(slot: Slot | None, relay: Relay | None, guard: Guard | None) -> Lag:
    """The relay that reads knows. Else: all that was committed before the guard's mark is settled, so none is older."""
    lag_bytes = None if slot is None else slot.lag_bytes
    if relay is not None and relay.lag_seconds is not None:
        return Lag(lag_bytes, relay.lag_seconds, at_most=False)
    if lag_bytes == 0:
        return Lag(0, 0.0, at_most=False)
    if slot is not None and guard is not None:
        return Lag(lag_bytes, guard.settled_seconds, at_most=True)
    return Lag(lag_bytes, None, at_most=False)
