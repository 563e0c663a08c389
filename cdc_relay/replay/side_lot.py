"""The lot as a run may use it: it parks, and takes nothing out. Only the process that reads the slot publishes from it.

Whatever it parks has a time, so that the running relay finds it, and that relay is told.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence

from cdc_relay.errors import LedgerError
from cdc_relay.model import Identity
from cdc_relay.parking.entry import Claim, Entry, Inventory, Mark, Reason, Survey
from cdc_relay.parking.postgres_lot import PostgresLot

__all__ = ["SideLot"]

_CLOSED_SECONDS = 5.0  # until the running relay looks whether a closed topic is open
_SURVEY_SECONDS = 1.0


class SideLot:
    def __init__(self, lot: PostgresLot) -> None:
        self.was_notified = False
        self._lot = lot
        self._survey_at = 0.0

    def open(self) -> None:
        self._lot.open()
        self._count()

    def park(self, entries: Sequence[Entry]) -> None:
        if time.monotonic() >= self._survey_at:
            self._count()
        self._lot.park([_with_time(entry) for entry in entries])
        self._lot.announce()

    def claim_due(self, *, closed_topics: Collection[str], limit: int) -> list[Claim]:
        return []

    def claim_topic(self, topic: str, *, limit: int) -> list[Claim]:
        return []

    def claim_key(self, topic: str, key: bytes | None, *, limit: int) -> list[Claim]:
        return []

    def survey(self) -> Survey:
        return Survey()

    def mark(self, marks: Sequence[Mark]) -> None:
        raise LedgerError("a run takes nothing out of the lot")

    def take_over(self, confirmed_lsn: int) -> Inventory:
        raise LedgerError("a run does not read the slot")

    def open_note(self, identity: Identity, *, count: int = 1) -> None:
        return

    def close_note(self) -> None:
        return

    def forget_handfuls(self) -> None:
        return

    def end_run(self) -> None:
        return

    def close(self) -> None:
        self._lot.close()

    def _count(self) -> None:
        """What others have parked counts for the limit too, and nobody else tells this process."""
        self._lot.survey()
        self._survey_at = time.monotonic() + _SURVEY_SECONDS


def _with_time(entry: Entry) -> Entry:
    is_timeless = entry.reason is Reason.TOPIC_CLOSED and entry.retry_seconds is None
    return entry._replace(retry_seconds=_CLOSED_SECONDS) if is_timeless else entry
