"""The compiled twins of settling a batch of tickets, and of looking it over (dispatch.survey)."""

from cdc_relay.native.ledger cimport Ledger, Transaction, Window

from cdc_relay.counters import Span, Survey
from cdc_relay.model import Ticket

cdef object _ticket = Ticket

cdef enum:
    ORDINAL = 1  # where a Ticket has what
    ORIGIN = 2
    SIZE = 3
    TOPIC = 6


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


cdef class _Times:
    """Of one outbox, as counters.Span. The total is kept as what is above the first: that of 5,200 would not fit."""

    cdef long long count, first, earliest, latest, above

    cdef void note(self, long long time) noexcept:
        if not self.count:
            self.first = time
        if not self.count or time < self.earliest:
            self.earliest = time
        if not self.count or time > self.latest:
            self.latest = time
        self.count += 1
        self.above += time - self.first

    cdef object span(self):
        cdef object count = self.count, first = self.first
        return Span(count, self.earliest, self.latest, first * count + self.above)


def survey(list tickets):
    """Tickets of one outbox and topic mostly come one after the other: they are counted by runs."""
    cdef dict series = {}, spans = {}
    cdef object origin = None, topic = None
    cdef long long run = 0
    cdef _Times times = None
    for ticket in tickets:
        if (<tuple>ticket)[ORIGIN] is not origin or (<tuple>ticket)[TOPIC] is not topic:
            if run:
                series[origin, topic] = series.get((origin, topic), 0) + run
            origin, topic, run = (<tuple>ticket)[ORIGIN], (<tuple>ticket)[TOPIC], 0
            times = <_Times>spans.get(origin)
            if times is None:
                times = spans[origin] = _Times()
        run += 1
        times.note(_commit_time((<tuple>ticket)[0]))
    if run:
        series[origin, topic] = series.get((origin, topic), 0) + run
    for origin, times in spans.items():
        spans[origin] = times.span()
    return Survey(series, spans)


def find_placed(list tickets, set positions):
    """Rows of a transaction mostly come one after the other: it is looked up once for them."""
    cdef set lsns = {lsn for lsn, _ in positions}
    cdef list found = []
    cdef object transaction = None
    cdef bint is_theirs = False
    for ticket in tickets:
        if (<tuple>ticket)[0] is not transaction:
            transaction = (<tuple>ticket)[0]
            is_theirs = transaction.commit_lsn in lsns
        if is_theirs and (transaction.commit_lsn, (<tuple>ticket)[ORDINAL]) in positions:
            found.append(ticket)
    return found


cdef inline long long _commit_time(object transaction) except? -1:
    """That of a replayed row is one of Python's."""
    if type(transaction) is Transaction:
        return (<Transaction>transaction).commit_time_us
    return transaction.commit_time_us
