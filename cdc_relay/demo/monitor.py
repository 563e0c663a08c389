"""Looks at the running demo from outside: once per second the slot's lag, the relay's state and the rate.

Feeds the display; changes nothing and decides nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import psycopg

from cdc_relay.demo.display import Display
from cdc_relay.demo.tally import RateHistory, Tally
from cdc_relay.demo.view import Snapshot

__all__ = ["Monitor", "SlotLag"]

_SAMPLE_SECONDS = 1.0
_SLOT_LAG = """
SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), confirmed_flush_lsn)::bigint
FROM pg_replication_slots WHERE slot_name = %s
"""


class SlotLag:
    """Asks Postgres how far the slot is behind; None when there is no answer."""

    def __init__(self, connection: psycopg.Connection, slot: str) -> None:
        self._connection = connection
        self._slot = slot

    def __call__(self) -> int | None:
        try:
            row = self._connection.execute(_SLOT_LAG, (self._slot,)).fetchone()
        except psycopg.Error:
            return None
        return None if row is None else row[0]


class Monitor:
    """Called in every turn of the demo's loop; acts when it is time."""

    def __init__(self, display: Display, tally: Tally, *, event_target: int | None) -> None:
        self.slot_lag: Callable[[], int | None] = lambda: None
        self.relay_state: Callable[[], str] = lambda: "not started"
        self._display = display
        self._tally = tally
        self._event_target = event_target
        self._started_at = self._shown_at = self._sampled_at = time.monotonic()
        self._history = RateHistory(self._started_at)
        self._phase = ""
        self._lag: int | None = None
        self._state = self.relay_state()

    def enter(self, phase: str) -> None:
        """A new phase is shown at once: what comes next may block for a while."""
        self._phase = phase
        self._show(time.monotonic())

    def begin_sampling(self, *, slot_lag: Callable[[], int | None], relay_state: Callable[[], str]) -> None:
        self.slot_lag, self.relay_state = slot_lag, relay_state
        self._sampled_at = time.monotonic() - _SAMPLE_SECONDS
        self._history = RateHistory(time.monotonic())

    def turn(self) -> None:
        now = time.monotonic()
        if now - self._sampled_at >= _SAMPLE_SECONDS:
            self._sample(now)
        if now - self._shown_at >= self._display.interval_seconds:
            self._show(now)

    def _sample(self, now: float) -> None:
        self._sampled_at = now
        self._lag, self._state = self.slot_lag(), self.relay_state()
        self._history.sample(self._tally.delivered_count, now)

    def _show(self, now: float) -> None:
        self._shown_at = now
        self._display.show(
            Snapshot(
                phase=self._phase,
                uptime_seconds=now - self._started_at,
                count=self._tally.count(),
                rates=self._history.rates,
                slot_lag_bytes=self._lag,
                relay_state=self._state,
                event_target=self._event_target,
            )
        )
