"""The demo's orders are plausible, and as many as asked for."""

from __future__ import annotations

import random
from collections import defaultdict

from cdc_relay.demo.orders import AGGREGATE_TYPES, OrderBook, Transaction, wave

LIFE = ["OrderPlaced", "PaymentReceived", "OrderPacked", "OrderShipped", "OrderDelivered"]


def transactions(count: int) -> list[Transaction]:
    book = OrderBook(random.Random(1))
    return [book.next_transaction(5) for _ in range(count)]


def test_a_transaction_has_one_to_five_rows() -> None:
    assert {len(transaction.rows) for transaction in transactions(500)} == {1, 2, 3, 4, 5}


def test_one_in_ten_is_rolled_back_beginning_with_the_first() -> None:
    rolled_back = [index for index, transaction in enumerate(transactions(30)) if transaction.is_rolled_back]
    assert rolled_back == [0, 10, 20]


def test_a_commit_keeps_to_the_rows_that_are_left() -> None:
    book = OrderBook(random.Random(1))
    committed = [t for t in (book.next_transaction(1) for _ in range(100)) if not t.is_rolled_back]
    assert {len(transaction.rows) for transaction in committed} == {1}


def test_every_id_is_used_once() -> None:
    ids = [row.id for transaction in transactions(500) for row in transaction.rows]
    assert len(ids) == len(set(ids))


def test_committed_orders_go_through_life_in_order() -> None:
    seen: dict[str, list[str]] = defaultdict(list)
    for transaction in transactions(500):
        for row in () if transaction.is_rolled_back else transaction.rows:
            seen[row.payload["order"]].append(row.type)
    assert all(types == LIFE[: len(types)] for types in seen.values())


def test_a_rolled_back_order_is_never_heard_of_again() -> None:
    kept: set[str] = set()
    dropped: set[str] = set()
    for transaction in transactions(500):
        (dropped if transaction.is_rolled_back else kept).update(row.payload["order"] for row in transaction.rows)
    assert kept.isdisjoint(dropped)


def test_the_aggregate_types_are_those_that_the_consumer_listens_to() -> None:
    used = {row.aggregatetype for transaction in transactions(500) for row in transaction.rows}
    assert used == set(AGGREGATE_TYPES)


def test_waves_leave_the_rate_as_it_was_asked() -> None:
    over_one_wave = [wave(second) for second in range(30)]
    assert abs(sum(over_one_wave) / 30 - 1) < 0.001
    assert min(over_one_wave) > 0.4
