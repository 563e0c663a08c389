"""The lot as a run may use it: it parks, and takes nothing out. Only the process that reads the slot publishes from it.

Whatever it parks has a time, so that the running relay finds it, and that relay is told.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from cdc_relay.errors import LedgerError
from cdc_relay.model import Identity
from cdc_relay.parking.entry import Claim, Entry, Inventory, Mark, Reason, Survey
from cdc_relay.parking.postgres_lot import PostgresLot

__all__ = ["SideLot"]

_CLOSED_SECONDS = 5.0  # until the running relay looks whether a closed topic is open


class SideLot:
    def __init__(self, lot: PostgresLot) -> None:
        self.was_notified = False
        self._lot = lot

    def open(self) -> None:
        self._lot.open()

    def park(self, entries: Sequence[Entry]) -> None:
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

    def open_note(self, identity: Identity) -> None:
        return

    def close_note(self) -> None:
        return

    def end_run(self) -> None:
        return

    def close(self) -> None:
        self._lot.close()


def _with_time(entry: Entry) -> Entry:
    is_timeless = entry.reason is Reason.TOPIC_CLOSED and entry.retry_seconds is None
    return entry._replace(retry_seconds=_CLOSED_SECONDS) if is_timeless else entry
