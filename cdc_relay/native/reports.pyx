"""The compiled twins of sinks.report, and of settling a batch of tickets."""

cimport cython

from cdc_relay.native.ledger cimport Ledger, Transaction, Window

from cdc_relay.model import Ticket

cdef object _ticket = Ticket

cdef enum:
    SIZE = 3  # where a Ticket has its size in bytes


cdef class Tray:
    cdef public list delivered
    cdef object _fail

    def __init__(self, fail):
        self.delivered = []
        self._fail = fail


@cython.freelist(4096)
cdef class Report:
    cdef Tray _tray
    cdef object _slip
    cdef object _timestamp_ms
    cdef object _partition

    def __cinit__(self, Tray tray not None, slip, timestamp_ms, partition):
        self._tray = tray
        self._slip = slip
        self._timestamp_ms = timestamp_ms
        self._partition = partition

    def __call__(self, error, message):
        if error is None:
            self._tray.delivered.append(self._slip)
        else:
            self._tray._fail(self._slip, self._timestamp_ms, self._partition, error, message)


make_report = Report


def settle_all(list tickets, Ledger ledger not None, Window window not None):
    """As Intake.settle for each; how many bytes they were."""
    cdef long long size, total = 0
    for ticket in tickets:
        if type(ticket) is not _ticket:  # a claim would be read as what it is not
            raise TypeError(f"expected a Ticket, found {type(ticket).__name__}")
        size = (<tuple>ticket)[SIZE]
        window.release(size)
        ledger.settle_one(<Transaction?>(<tuple>ticket)[0])
        total += size
    return total
