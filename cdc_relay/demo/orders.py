"""The demo's shop: order events as a user's application would write them, in transactions of one to five rows.

`OrderBook` is pure and decides what the next transaction is; `OrderWriter` owns the connection that writes it.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event
from uuid import UUID, uuid4

import psycopg
from psycopg.types.json import Jsonb

from cdc_relay.demo.tally import Tally
from cdc_relay.errors import RelayError

__all__ = ["AGGREGATE_TYPES", "CREATE_TABLE", "OrderBook", "OrderWriter", "OutboxRow", "Transaction", "wave"]

CREATE_TABLE = """
CREATE TABLE public.outbox (
    id            uuid PRIMARY KEY,
    aggregatetype text NOT NULL,
    aggregateid   text NOT NULL,
    type          text NOT NULL,
    payload       jsonb
)
"""
_INSERT = "INSERT INTO public.outbox (id, aggregatetype, aggregateid, type, payload) VALUES (%s, %s, %s, %s, %s)"

AGGREGATE_TYPES = ("order", "payment")
_LIFE_OF_AN_ORDER = (
    ("order", "OrderPlaced"),
    ("payment", "PaymentReceived"),
    ("order", "OrderPacked"),
    ("order", "OrderShipped"),
    ("order", "OrderDelivered"),
)
_CUSTOMERS = ("Ada", "Barbara", "Edsger", "Frances", "Grace", "Hedy", "Katherine", "Margaret", "Radia", "Tony")
_FIRST_ORDER_NUMBER = 1_001
_OPEN_ORDER_COUNT = 40
_ROW_COUNT_MAX = 5
_ROLLBACK_EVERY = 10
_AWAITING_MAX = 1_000  # the embedded broker keeps 5 MB per partition: the consumer must never fall far behind


@dataclass(frozen=True, slots=True)
class OutboxRow:
    id: UUID
    aggregatetype: str
    aggregateid: str
    type: str
    payload: dict[str, str]


@dataclass(frozen=True, slots=True)
class Transaction:
    rows: tuple[OutboxRow, ...]
    is_rolled_back: bool


@dataclass(slots=True)
class _Order:
    number: int
    customer: str
    amount: str
    step: int = 0

    def next_row(self) -> OutboxRow:
        aggregate_type, event_type = _LIFE_OF_AN_ORDER[self.step]
        self.step += 1
        payload = {"event": event_type, "order": str(self.number), "customer": self.customer, "amount": self.amount}
        return OutboxRow(uuid4(), aggregate_type, f"{aggregate_type}-{self.number}", event_type, payload)

    @property
    def is_finished(self) -> bool:
        return self.step == len(_LIFE_OF_AN_ORDER)


class OrderBook:
    """The open orders. The first and then every tenth transaction fails at checkout and is rolled back."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._open: list[_Order] = []
        self._order_count = self._transaction_count = 0

    def next_transaction(self, row_count_max: int) -> Transaction:
        row_count = self._rng.randint(1, _ROW_COUNT_MAX)
        is_rolled_back = self._transaction_count % _ROLLBACK_EVERY == 0
        self._transaction_count += 1
        if is_rolled_back:
            return Transaction(tuple(self._new_order().next_row() for _ in range(row_count)), True)
        return Transaction(tuple(self._advance() for _ in range(min(row_count, row_count_max))), False)

    def _new_order(self) -> _Order:
        number = _FIRST_ORDER_NUMBER + self._order_count
        self._order_count += 1
        amount = f"{self._rng.randint(5, 400)}.{self._rng.randint(0, 99):02}"
        return _Order(number, self._rng.choice(_CUSTOMERS), amount)

    def _advance(self) -> OutboxRow:
        if len(self._open) < _OPEN_ORDER_COUNT:
            self._open.append(self._new_order())
        index = self._rng.randrange(len(self._open))
        row = self._open[index].next_row()
        if self._open[index].is_finished:
            self._open.pop(index)
        return row


class OrderWriter:
    """Commits exactly `event_limit` events (None: until halted), `rate` per second (None: as fast as they arrive)."""

    def __init__(self, dsn: str, tally: Tally, *, event_limit: int | None, rate: float | None) -> None:
        self._dsn = dsn
        self._tally = tally
        self._remaining = event_limit
        self._rate = rate
        self._book = OrderBook(random.Random())
        self._started_at = time.monotonic()

    def run(self, halt: Event) -> None:
        try:
            with psycopg.connect(self._dsn, application_name="demo-writer") as connection:
                self._write_all(connection, halt)
        except psycopg.Error as exc:
            raise RelayError(f"the demo could not write to its Postgres: {exc}") from exc

    def _write_all(self, connection: psycopg.Connection, halt: Event) -> None:
        due_at = time.monotonic()
        while self._remaining != 0 and not halt.is_set():
            transaction = self._book.next_transaction(self._remaining or _ROW_COUNT_MAX)
            self._write(connection, transaction)
            due_at = self._pace(due_at, 0 if transaction.is_rolled_back else len(transaction.rows), halt.wait)
            while self._tally.awaiting_count > _AWAITING_MAX and not halt.is_set():
                halt.wait(0.002)

    def _write(self, connection: psycopg.Connection, transaction: Transaction) -> None:
        rows = [(r.id, r.aggregatetype, r.aggregateid, r.type, Jsonb(r.payload)) for r in transaction.rows]
        connection.cursor().executemany(_INSERT, rows)
        if transaction.is_rolled_back:
            connection.rollback()
            self._tally.rolled_back(len(rows))
            return
        self._tally.committing((row.id for row in transaction.rows), time.monotonic())
        connection.commit()
        if self._remaining is not None:
            self._remaining -= len(rows)

    def _pace(self, due_at: float, row_count: int, sleep: Callable[[float], object]) -> float:
        """When the next transaction is due, after having waited for it."""
        if self._rate is None:
            return due_at
        now = time.monotonic()
        due_at = max(due_at, now - 1) + row_count / (
            self._rate * wave(now - self._started_at)
        )  # catches up at most one second
        sleep(max(0.0, due_at - now))
        return due_at


def wave(elapsed_seconds: float) -> float:
    """Customers come in waves: half as many to half as many again, around 1, every half minute."""
    return 1 + 0.5 * math.sin(elapsed_seconds * math.tau / 30)
