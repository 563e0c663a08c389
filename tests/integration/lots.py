"""A lot on a real Postgres, and entries for it, for the tests of the lot."""

from __future__ import annotations

from typing import Any

from cdc_relay.model import ErrorClass, Failure, Headers, Origin, Policy, Record, Retry, Ticket, Transaction
from cdc_relay.parking.entry import Claim, Entry, Mark, Outcome, Reason, Status
from cdc_relay.parking.postgres_lot import PostgresLot
from tests.fixtures.database import Database
from tests.fixtures.outbox import create_lot

__all__ = [
    "FAILURE",
    "HOLDING",
    "RELAXED",
    "STRICT",
    "TIME_US",
    "TOPIC",
    "Ground",
    "due",
    "lsns",
    "make_entry",
    "make_ticket",
    "mark_all",
]

TOPIC = "orders"
TIME_US = 1_790_000_000_123_457  # with microseconds that a float would lose
ORIGIN = Origin("public.outbox", ("id", "type", "correlation_id", "tenant"))
RELAXED = Policy("orders", retry=Retry(base_seconds=7, max_retries=3))
STRICT = Policy("strict", strict=True)
HOLDING = Policy("holding", strict=True, hold_dead=True)
FAILURE = Failure("TOO_LARGE", "the broker said no", "raise the limit", ErrorClass.TRANSIENT)


def make_ticket(
    lsn: int, *, ordinal: int = 0, policy: Policy = RELAXED, event: tuple[bytes | None, ...] = ()
) -> Ticket:
    transaction = Transaction(commit_lsn=lsn, commit_time_us=TIME_US, xid=7)
    return Ticket(transaction, ordinal, ORIGIN, 10, event, [], TOPIC, policy)


def make_entry(
    lsn: int,
    key: bytes | None = b"k",
    *,
    value: bytes | None = b"v",
    headers: Headers | None = None,
    status: Status = Status.RETRYING,
    reason: Reason = Reason.FAILURE,
    topic: str = TOPIC,
    policy: Policy = RELAXED,
    ordinal: int = 0,
    event: tuple[bytes | None, ...] = (b"e1", b"OrderCreated", None, None),
    **more: Any,
) -> Entry:
    """Due at once where it is a failure that is retried."""
    size = len(key or b"") + len(value or b"")
    record = Record(topic, key, value, headers or [], TIME_US // 1000, size, policy)
    if status is Status.RETRYING and reason is Reason.FAILURE:
        more = {"retry_seconds": -1.0, "failure": FAILURE} | more
    ticket = make_ticket(lsn, ordinal=ordinal, policy=policy, event=event)
    return Entry(ticket, status, reason, **({"record": record} | more))


class Ground:
    """A database with the tables, and lots of one slot in it, which come with the rights of `run`."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._lots: list[PostgresLot] = []
        with database.connect() as conn:
            create_lot(conn)
        self.role = database.create_relay_role()

    def make(self, dsn: str = "", **options: Any) -> PostgresLot:
        given: dict[str, Any] = {"slot": "orders", "limit_records": 100_000, "limit_bytes": 1 << 30}
        policies = {policy.route: policy for policy in (RELAXED, STRICT, HOLDING)}
        lot = PostgresLot(dsn or self.database.dsn(self.role), **(given | {"policies": policies} | options))
        self._lots.append(lot)
        return lot

    def open(self, **options: Any) -> PostgresLot:
        lot = self.make(**options)
        lot.open()
        return lot

    def rows(self, columns: str) -> list[tuple[Any, ...]]:
        return self.database.execute(f"SELECT {columns} FROM cdc_relay.parked_records ORDER BY commit_lsn, ordinal, id")

    def execute(self, sql: str) -> None:
        self.database.execute(sql)

    def set(self, assignment: str, where: str = "true") -> None:
        self.database.execute(f"UPDATE cdc_relay.parked_records SET {assignment} WHERE {where}")

    def backends(self) -> list[int]:
        rows = self.database.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return [pid for (pid,) in rows]

    def cut(self) -> None:
        for pid in self.backends():
            self.database.server.execute("SELECT pg_terminate_backend(%s, 30000)", [pid])

    def close(self) -> None:
        for lot in self._lots:
            lot.close()


def lsns(claims: list[Claim]) -> list[int]:
    return [claim.commit_lsn for claim in claims]


def due(lot: PostgresLot, *, closed: tuple[str, ...] = (), limit: int = 100) -> list[Claim]:
    return lot.claim_due(closed_topics=closed, limit=limit)


def mark_all(lot: PostgresLot, claims: list[Claim], outcome: Outcome, **more: Any) -> None:
    lot.mark([Mark(claim, outcome, **more) for claim in claims])
