"""A batch of tickets looked over: both twins find the same."""

from __future__ import annotations

import pytest

from cdc_relay.delivery.ledger import Ledger
from cdc_relay.dispatch.survey import find_placed_in_python, survey_in_python
from cdc_relay.model import Origin, Policy, Ticket, Transaction
from tests.unit.native_rig import NATIVE, PYTHON, Twins, needs_native

ORDERS, BILLS, POLICY = Origin("public.orders"), Origin("public.bills"), Policy("default")


def ticket(transaction: Transaction, origin: Origin = ORDERS, topic: str = "a") -> Ticket:
    return Ticket(transaction, 0, origin, 10, (), [], topic, POLICY)


def tickets(ledger: Ledger) -> list[Ticket]:
    """Runs that come again, and topics that are equal without being the same."""
    first = ledger.begin(commit_lsn=1, commit_time_us=500, xid=1)
    ledger.commit(2)
    second = ledger.begin(commit_lsn=3, commit_time_us=300, xid=2)
    equal = "".join(["or", "ders"])
    return [
        *(ticket(first), ticket(first), ticket(second, topic="b"), ticket(second)),
        *(
            ticket(first, BILLS),
            ticket(first, topic="orders"),
            ticket(second, topic=equal),
            ticket(second, topic=equal),
        ),
    ]


@needs_native
@pytest.mark.parametrize("twins", [PYTHON, NATIVE], ids=["python", "native"])
def test_both_twins_find_the_same(twins: Twins) -> None:
    from cdc_relay.native.reports import survey

    batch = tickets(twins.ledger())
    expected = survey_in_python(batch)
    assert survey(batch) == expected._replace(series=dict(expected.series))
    assert dict(expected.series) == {(ORDERS, "a"): 3, (ORDERS, "b"): 1, (BILLS, "a"): 1, (ORDERS, "orders"): 3}
    assert expected.spans == {ORDERS: (7, 300, 500, 3 * 500 + 4 * 300), BILLS: (1, 500, 500, 500)}


@needs_native
@pytest.mark.parametrize("twins", [PYTHON, NATIVE], ids=["python", "native"])
def test_both_twins_find_the_same_positions(twins: Twins) -> None:
    from cdc_relay.native.reports import find_placed

    batch = [each._replace(ordinal=number) for number, each in enumerate(tickets(twins.ledger()))]
    for positions in (set(), {(1, 0)}, {(1, 1), (3, 3)}, {(3, 0), (2, 2)}, {each.position for each in batch}):
        found = find_placed(batch, positions)
        assert found == find_placed_in_python(batch, positions) == [x for x in batch if x.position in positions]


@needs_native
def test_one_ticket_is_a_batch() -> None:
    from cdc_relay.native.reports import survey

    batch = [ticket(Transaction(commit_lsn=1, commit_time_us=0, xid=1))]
    assert survey(batch) == ({(ORDERS, "a"): 1}, {ORDERS: (1, 0, 0, 0)})


@needs_native
def test_the_times_of_a_large_batch_add_up() -> None:
    from cdc_relay.native.reports import survey

    transaction = Transaction(commit_lsn=1, commit_time_us=1_790_000_000_000_000, xid=1)
    batch = [ticket(transaction)] * 20_000
    assert survey(batch).spans == survey_in_python(batch).spans
