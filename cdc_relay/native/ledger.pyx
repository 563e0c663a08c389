"""The compiled twins of model.Transaction, delivery.ledger.Ledger and delivery.window.Window: same names, same rules.

Whoever changes one changes the other: tests/unit/test_ledger.py and test_window.py run on both.
"""

from collections import deque

from cdc_relay.errors import LedgerError
from cdc_relay.protocol.lsn import format_lsn


cdef uint64_t _position(object lsn) except? 0:
    """Python's own numbers have no end, and take what is below zero."""
    try:
        return lsn
    except OverflowError as exc:
        raise LedgerError(f"{lsn} is no position in a WAL") from exc


cdef class Transaction:
    run = None
    run_row = None

    def __init__(self, *, uint64_t commit_lsn, int64_t commit_time_us, int64_t xid):
        self.commit_lsn = commit_lsn
        self.commit_time_us = commit_time_us
        self.xid = xid

    def __str__(self):
        return f"transaction {self.xid} at LSN {format_lsn(self.commit_lsn)}"


cdef class Ledger:
    def __init__(self, *, uint64_t ceiling_lsn=0):
        self.ceiling_lsn = ceiling_lsn
        self._queue = deque()

    @property
    def in_transaction(self):
        return self.current is not None

    @property
    def oldest(self):
        return self._queue[0] if self._queue else None

    @property
    def confirmable_lsn(self):
        return min(self.safe_lsn, self.ceiling_lsn)

    def receive(self, lsn):
        self.pass_by(_position(lsn))

    cdef void pass_by(self, uint64_t lsn) noexcept:
        if lsn > self.received_lsn:
            self.received_lsn = lsn

    def begin(self, *, commit_lsn, commit_time_us, xid):
        try:
            return self.open(commit_lsn, commit_time_us, xid)
        except OverflowError as exc:
            raise LedgerError(f"transaction {xid} has no possible time or position") from exc

    cdef Transaction open(self, uint64_t commit_lsn, int64_t commit_time_us, int64_t xid):
        if self.current is not None:
            raise LedgerError(f"a transaction began inside {self.current}")
        cdef Transaction transaction = Transaction.__new__(Transaction)
        transaction.commit_lsn = commit_lsn
        transaction.commit_time_us = commit_time_us
        transaction.xid = xid
        self.current = transaction
        self._queue.append(transaction)
        return transaction

    def add(self):
        cdef Transaction transaction = self.current
        if transaction is None:
            raise LedgerError("a change arrived outside a transaction")
        cdef int64_t ordinal = transaction.record_count
        transaction.record_count = ordinal + 1
        transaction.open_count += 1
        return ordinal

    def commit(self, end_lsn):
        self.close(_position(end_lsn))

    cdef void close(self, uint64_t end_lsn) except *:
        cdef Transaction transaction = self.current
        if transaction is None:
            raise LedgerError(f"a commit at {format_lsn(end_lsn)} without a begin")
        if end_lsn <= self._last_lsn:
            raise LedgerError(f"position {format_lsn(end_lsn)} arrived after {format_lsn(self._last_lsn)}")
        self._last_lsn = end_lsn
        self.pass_by(end_lsn)
        transaction.end_lsn = end_lsn
        self.current = None
        self._advance()

    def idle(self, lsn):
        cdef uint64_t position = _position(lsn)
        if self.current is not None or position <= self._last_lsn:
            return
        self.open(position, 0, 0)
        self.close(position)

    def settle(self, Transaction transaction not None):
        self.settle_one(transaction)

    cdef void settle_one(self, Transaction transaction) except *:
        if transaction.open_count <= 0:
            raise LedgerError(f"a record of {transaction} was settled twice")
        transaction.open_count -= 1
        if not transaction.open_count and transaction.end_lsn and transaction is self._queue[0]:
            self._advance()

    def report(self):
        cdef uint64_t lsn = min(self.safe_lsn, self.ceiling_lsn)
        if lsn > self.received_lsn or lsn < self._reported_lsn:
            raise LedgerError(
                f"refusing to confirm {format_lsn(lsn)}: this session received up to {format_lsn(self.received_lsn)}"
                f" and has confirmed {format_lsn(self._reported_lsn)}",
                remedy="this is a defect of cdc-relay; restart it (nothing is lost) and report it",
            )
        self._reported_lsn = lsn
        return lsn

    cdef void _advance(self) except *:
        cdef Transaction transaction
        queue = self._queue
        while queue:
            transaction = <Transaction>queue[0]
            if not transaction.end_lsn or transaction.open_count:
                break
            queue.popleft()
            self.safe_lsn = transaction.end_lsn
            if transaction.record_count:
                self.settled_lsn = transaction.end_lsn


cdef class Window:
    def __init__(self, *, int64_t record_limit, int64_t byte_limit):
        self.record_limit = record_limit
        self.byte_limit = byte_limit

    @property
    def is_full(self):
        return self.record_count >= self.record_limit or self.byte_count >= self.byte_limit

    cpdef void take(self, int64_t size_bytes) noexcept:
        self.record_count += 1
        self.byte_count += size_bytes

    cpdef void release(self, int64_t size_bytes) except *:
        self.record_count -= 1
        self.byte_count -= size_bytes
        if self.record_count < 0 or self.byte_count < 0:
            raise LedgerError("more was released from the window than was taken")
