"""The compiled twin of dispatch.followers."""

from cdc_relay.native.ledger cimport Transaction

from cdc_relay.model import Ticket

cdef object _ticket = Ticket


def find_followers(list tickets, *, dict out, dict lanes):
    cdef list followers = [], freed = []
    for ticket in tickets:
        scope = out.pop(_position(ticket), None)
        if scope is None:
            continue
        waiting = lanes.get(scope)
        if waiting:
            parcel = waiting.popleft()
            slip = (<tuple?>parcel)[1]
            if type(slip) is _ticket:
                out[_position(slip)] = scope
            followers.append(parcel)
        else:
            lanes.pop(scope, None)
            freed.append(scope)
    return followers, freed


cdef inline tuple _position(object ticket):
    """Ticket.position; a transaction may be one of Python's, where the window is."""
    transaction = (<tuple>ticket)[0]
    if type(transaction) is Transaction:
        return (<Transaction>transaction).commit_lsn, (<tuple>ticket)[1]
    return transaction.commit_lsn, (<tuple>ticket)[1]
