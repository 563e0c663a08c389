"""What metrics cost per event, and what a look at /metrics costs: `python -m tests.bench.metrics`.

The loop counts by batch of verdicts and times a sample of ten rows a second; both are measured alone, best of several.
"""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable

from prometheus_client import generate_latest

from cdc_relay.counters import TOPIC_LIMIT, Counters
from cdc_relay.delivery.twins import Window, make_ledger
from cdc_relay.dispatch.verdict_counter import VerdictCounter
from cdc_relay.http.metrics import build_registry
from cdc_relay.model import Origin, Policy, Ticket, Transaction
from cdc_relay.sinks.sink import Reports
from cdc_relay.stats import Stats

_RUNS = 7
_BATCH = 500
_APART_US = 4
_TOPICS = [f"topic-{number}" for number in range(20)]
_POLICY = Policy("default")
_ORIGIN = Origin("public.outbox")


def main() -> None:
    print(f"verdicts in batches of {_BATCH}, us per event")
    for rows in (1, 10):
        for topics in (1, 20):
            print(f"  {rows:>2} rows per transaction, {topics:>2} topics, behind  {_cost(rows, topics, 45.0):6.3f}")
    print(f"   1 row per transaction, 20 topics, caught up {_cost(1, 20, 0.004):6.3f}")
    print(f"a look at /metrics with {TOPIC_LIMIT} topics: {_scrape_ms():.1f} ms")


def _cost(rows: int, topics: int, late_seconds: float) -> float:
    """Caught up, the records of a batch are a few milliseconds old and fall into several buckets."""
    reports = _make_reports(rows, topics, late_seconds)
    counter = VerdictCounter(Counters())
    return _us_per_call(lambda: counter.count(reports, has_claims=False)) / _BATCH


def _make_reports(rows: int, topics: int, late_seconds: float) -> Reports:
    now_us, tickets = int(time.time() * 1e6), []
    ledger = make_ledger(Window(record_limit=1, byte_limit=1), ceiling_lsn=0)  # whose transactions the relay would have
    for number in range(_BATCH // rows):
        time_us = now_us - int(late_seconds * 1e6) + number * rows * _APART_US
        transaction = ledger.begin(commit_lsn=number + 1, commit_time_us=time_us, xid=1)
        ledger.commit(number + 1)
        tickets += [_ticket(transaction, ordinal, _TOPICS[(number + ordinal) % topics]) for ordinal in range(rows)]
    return Reports([*tickets], [])


def _ticket(transaction: Transaction, ordinal: int, topic: str) -> Ticket:
    return Ticket(transaction, ordinal, _ORIGIN, 300, (), [], topic, _POLICY)


def _scrape_ms() -> float:
    stats = Stats(slot="orders")
    for number in range(TOPIC_LIMIT):
        stats.counters.of("public.outbox", f"topic-{number}").published += 1
    registry = build_registry(stats)
    return _us_per_call(lambda: generate_latest(registry), count=5) / 1000


def _us_per_call(call: Callable[[], object], *, count: int = 200) -> float:
    return min(timeit.repeat(call, number=count, repeat=_RUNS)) / count * 1e6


if __name__ == "__main__":
    main()
