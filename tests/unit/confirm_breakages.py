"""Ledgers, intakes and worlds with one rule of the confirm protocol broken: the search must find each of them out."""

from __future__ import annotations

from typing import ClassVar

from cdc_relay.delivery.intake import Intake
from cdc_relay.delivery.ledger import Ledger
from cdc_relay.model import Transaction
from cdc_relay.protocol import wire
from tests.unit.confirm_world import Place, Scene, World
from tests.unit.native_rig import Twins

__all__ = [
    "EagerIntake",
    "EagerParking",
    "FirstOnly",
    "ForgetfulOfIdle",
    "ForgetsCeiling",
    "HalfSettled",
    "IdlePassesOpen",
    "KeepsPositions",
    "NewestSettled",
    "OneTooMany",
    "make_first_world",
]


class NewestSettled(Ledger):
    """Confirms the newest settled transaction, whatever is open before it."""

    __slots__ = ()

    def _advance(self) -> None:
        settled = [each for each in self._queue if each.end_lsn and not each.open_count]
        for transaction in settled:
            self._queue.remove(transaction)
            self.safe_lsn = max(self.safe_lsn, transaction.end_lsn)

    def settle(self, transaction: Transaction) -> None:
        transaction.open_count -= 1
        self._advance()


class ForgetsCeiling(Ledger):
    """Confirms what the guard has not written down."""

    __slots__ = ()

    @property
    def confirmable_lsn(self) -> int:
        return self.safe_lsn


class KeepsPositions(Ledger):
    """Knows from the line before what is safe and what was received."""

    __slots__ = ()
    before: ClassVar[Ledger | None] = None

    def __init__(self, *, ceiling_lsn: int = 0) -> None:
        super().__init__(ceiling_lsn=ceiling_lsn)
        if KeepsPositions.before is not None:
            self.safe_lsn = KeepsPositions.before.safe_lsn
            self.received_lsn = KeepsPositions.before.received_lsn
        KeepsPositions.before = self


class IdlePassesOpen(Ledger):
    """Takes an idle position for safe at once."""

    __slots__ = ()

    def idle(self, lsn: int) -> None:
        if self.current is None and lsn > self._last_lsn:
            self._append_lsn(lsn)
            self.safe_lsn = lsn


class ForgetfulOfIdle(Ledger):
    """Never enters an idle position: a slot of an idle outbox would hold the WAL of a busy database for ever."""

    __slots__ = ()

    def idle(self, lsn: int) -> None:
        return None


class HalfSettled(Ledger):
    """Takes a transaction for settled with its first record."""

    __slots__ = ()

    def settle(self, transaction: Transaction) -> None:
        left, transaction.open_count = transaction.open_count - 1, 0
        self._advance()
        transaction.open_count = left


class FirstOnly(Ledger):
    """Confirms one transaction at a time, and forgets that the next one may be settled, too."""

    __slots__ = ()

    def _advance(self) -> None:
        if self._queue and self._queue[0].end_lsn and not self._queue[0].open_count:
            self.safe_lsn = self._queue.popleft().end_lsn


class OneTooMany(Ledger):
    """Confirms the byte after the end: what is written right there begins before it."""

    __slots__ = ()

    @property
    def confirmable_lsn(self) -> int:
        lsn = min(self.safe_lsn, self.ceiling_lsn)
        return min(lsn + 1, self.received_lsn) if lsn else 0


class EagerIntake(Intake):
    """Enters an idle position into the ledger before anybody has looked at the publication."""

    __slots__ = ()

    def _take_keepalive(self, keepalive: wire.Keepalive) -> None:
        super()._take_keepalive(keepalive)
        self.ledger.idle(keepalive.wal_end)


class EagerParking(World):
    """Settles a record when it is sent to the lot, not when the lot has it."""

    def park(self, place: Place) -> None:
        super().park(place)
        self.intake.settle(self.tickets.pop(place)[1])


def make_first_world(scene: Scene, twins: Twins) -> World:
    """No ledger was before its own."""
    KeepsPositions.before = None
    return World(scene, twins)
