"""How far the slot may be confirmed: transactions in commit order, and the longest settled prefix of them.

One Ledger lives as long as one START_REPLICATION: an LSN never outlives the connection it came from. It does no I/O
and trusts nobody: a report that could make Postgres forget an unsettled transaction is a LedgerError.
"""

from __future__ import annotations

from collections import deque

from cdc_relay.errors import LedgerError
from cdc_relay.model import Transaction
from cdc_relay.protocol.lsn import format_lsn

__all__ = ["Ledger"]


class Ledger:
    """Begin, add, commit and settle in; the safe LSN out."""

    __slots__ = (
        "_last_lsn",
        "_queue",
        "_reported_lsn",
        "ceiling_lsn",
        "current",
        "received_lsn",
        "safe_lsn",
        "settled_lsn",
    )

    def __init__(self, *, ceiling_lsn: int = 0) -> None:
        self.safe_lsn = 0  # 0: nothing settled in this session; Postgres reads it as "no position"
        self.settled_lsn = 0  # end of the last transaction within the safe ones that had records
        self.ceiling_lsn = ceiling_lsn  # what the guard has written down: no report passes it
        self.received_lsn = 0  # the highest position this session has seen
        self._reported_lsn = 0
        self._last_lsn = 0  # end of the newest entry
        self._queue: deque[Transaction] = deque()
        self.current: Transaction | None = None

    @property
    def in_transaction(self) -> bool:
        return self.current is not None

    @property
    def oldest(self) -> Transaction | None:
        return self._queue[0] if self._queue else None

    def receive(self, lsn: int) -> None:
        if lsn > self.received_lsn:
            self.received_lsn = lsn

    def begin(self, *, commit_lsn: int, commit_time_us: int, xid: int) -> Transaction:
        if self.current is not None:
            raise LedgerError(f"a transaction began inside {self.current}")
        self.current = Transaction(commit_lsn=commit_lsn, commit_time_us=commit_time_us, xid=xid)
        self._queue.append(self.current)
        return self.current

    def add(self) -> int:
        """Open one record in the current transaction; its ordinal."""
        transaction = self.current
        if transaction is None:
            raise LedgerError("a change arrived outside a transaction")
        ordinal = transaction.record_count
        transaction.record_count = ordinal + 1
        transaction.open_count += 1
        return ordinal

    def commit(self, end_lsn: int) -> None:
        transaction = self.current
        if transaction is None:
            raise LedgerError(f"a commit at {format_lsn(end_lsn)} without a begin")
        self._append_lsn(end_lsn)
        transaction.end_lsn = end_lsn
        self.current = None
        self._advance()

    def idle(self, lsn: int) -> None:
        """A transaction with no records: the server is past `lsn` and had nothing for us up to there."""
        if self.current is not None or lsn <= self._last_lsn:
            return  # inside a transaction only its own commit counts; an older position says nothing new
        self.begin(commit_lsn=lsn, commit_time_us=0, xid=0)
        self.commit(lsn)

    def settle(self, transaction: Transaction) -> None:
        """One of the transaction's records is delivered or durably parked."""
        if transaction.open_count <= 0:
            raise LedgerError(f"a record of {transaction} was settled twice")
        transaction.open_count -= 1
        if not transaction.open_count and transaction.end_lsn and transaction is self._queue[0]:
            self._advance()

    @property
    def confirmable_lsn(self) -> int:
        """Safe, and known to the guard."""
        return min(self.safe_lsn, self.ceiling_lsn)

    def report(self) -> int:
        """The position for the next status update: never beyond what this session received, never backwards."""
        lsn = self.confirmable_lsn
        if lsn > self.received_lsn or lsn < self._reported_lsn:
            raise LedgerError(
                f"refusing to confirm {format_lsn(lsn)}: this session received up to {format_lsn(self.received_lsn)}"
                f" and has confirmed {format_lsn(self._reported_lsn)}",
                remedy="this is a defect of cdc-relay; restart it (nothing is lost) and report it",
            )
        self._reported_lsn = lsn
        return lsn

    def _append_lsn(self, lsn: int) -> None:
        if lsn <= self._last_lsn:
            raise LedgerError(f"position {format_lsn(lsn)} arrived after {format_lsn(self._last_lsn)}")
        self._last_lsn = lsn
        self.receive(lsn)

    def _advance(self) -> None:
        queue = self._queue
        while queue and queue[0].end_lsn and not queue[0].open_count:
            transaction = queue.popleft()
            self.safe_lsn = transaction.end_lsn
            if transaction.record_count:
                self.settled_lsn = transaction.end_lsn
