"""What the lot has of what the slot may deliver again: such a change is settled, and not published. Pure."""

from __future__ import annotations

from cdc_relay.model import Identity, Transaction

__all__ = ["Parked"]


class Parked:
    """Empty as soon as the stream is beyond the newest of them: then nothing older can come again."""

    __slots__ = ("_identities", "_newest", "is_passed")

    def __init__(self, identities: frozenset[Identity]) -> None:
        self._identities = identities
        self._newest = max(((lsn, ordinal) for _, lsn, ordinal, _ in identities), default=(0, 0))
        self.is_passed = not identities

    def has(self, outbox: str, transaction: Transaction, ordinal: int) -> bool:
        if (transaction.commit_lsn, ordinal) > self._newest:
            self._finish()
            return False
        return (outbox, transaction.commit_lsn, ordinal, transaction.commit_time_us) in self._identities

    def pass_commit(self, commit_lsn: int) -> None:
        """A transaction is read to its end."""
        if commit_lsn >= self._newest[0]:
            self._finish()

    def pass_position(self, lsn: int) -> None:
        """The server has nothing for us before this."""
        if lsn > self._newest[0]:
            self._finish()

    def _finish(self) -> None:
        self.is_passed = True
        self._identities = frozenset()
