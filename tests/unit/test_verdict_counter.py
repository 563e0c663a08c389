"""Every verdict of the sink is in the counters, whatever way its record took."""

from __future__ import annotations

import pytest

from cdc_relay.counters import NO_TOPIC
from cdc_relay.dispatch.verdict_counter import VerdictCounter
from cdc_relay.model import Origin, Policy, Ticket, Transaction
from cdc_relay.parking.entry import Reason
from cdc_relay.sinks.sink import Reports
from cdc_relay.stats import Stats
from tests.unit.dispatch_rig import BROKEN, POISON, Rig
from tests.unit.feed_rig import parked_rig, wait_for_claim

SECOND_US = 1_000_000


def counted(rig: Rig, topic: str = "calm") -> tuple[int, int, int, int]:
    counter = rig.stats.counters.of("public.outbox", topic)
    return counter.published, counter.refused, counter.retried, counter.failed


def test_an_acknowledged_record_is_published() -> None:
    rig = Rig()
    rig.write(("calm", "k"), ("calm", "k"), ("other", "k"))
    rig.turn()
    rig.accept()
    rig.turn()
    assert (counted(rig), counted(rig, "other")) == ((2, 0, 0, 0), (1, 0, 0, 0))
    assert sum(rig.stats.counters.latencies["public.outbox"].buckets) == 3


def test_a_failure_that_may_pass_is_a_retry_once_it_is_parked() -> None:
    rig = Rig(eager_jobs=False)
    rig.write(("calm", "k"))
    rig.turn()
    rig.reject(rig.out()[0], BROKEN)
    rig.turn()
    assert counted(rig) == (0, 1, 0, 0)
    rig.jobs.run()
    rig.turn()
    assert counted(rig) == (0, 1, 1, 0)
    assert rig.stats.counters.parked == {Reason.FAILURE: 1}


def test_a_failure_for_good_is_permanent() -> None:
    rig = Rig()
    rig.write(("calm", "k"))
    rig.turn()
    rig.reject(rig.out()[0], POISON)
    rig.turn()
    assert counted(rig) == (0, 1, 0, 1)


def test_a_row_without_a_route_failed_without_a_try() -> None:
    rig = Rig()
    rig.write(("nowhere", "k"))
    rig.turn(2)
    assert counted(rig, NO_TOPIC) == (0, 0, 0, 1)


def test_what_is_scheduled_is_neither_retry_nor_failure() -> None:
    rig = Rig()
    rig.write(("calm", "k"), due_in=60)
    rig.turn(2)
    assert counted(rig) == (0, 0, 0, 0)
    assert rig.stats.counters.parked == {Reason.SCHEDULE: 1}


def test_tries_from_the_lot_count_like_those_of_the_stream() -> None:
    rig, _ = parked_rig()
    assert counted(rig) == (0, 1, 1, 0)
    wait_for_claim(rig)
    rig.reject(rig.out()[0], BROKEN)
    rig.turn()
    assert counted(rig) == (0, 2, 2, 0)
    wait_for_claim(rig)
    rig.accept()
    rig.turn()
    assert counted(rig) == (1, 2, 2, 0)


def test_a_record_from_the_lot_has_no_latency() -> None:
    """Its delay is that of its retries, not of the relay."""
    rig, _ = parked_rig()
    wait_for_claim(rig)
    rig.accept()
    rig.turn()
    assert rig.stats.counters.latencies == {}


def ticket(origin: Origin, *, committed_us: int) -> Ticket:
    transaction = Transaction(commit_lsn=1, commit_time_us=committed_us, xid=1)
    return Ticket(transaction, 0, origin, 10, (), [], "calm", Policy("calm"))


@pytest.mark.parametrize("committed_us", [0, 5 * SECOND_US])
def test_only_what_has_a_commit_time_has_a_latency(committed_us: int) -> None:
    stats, origin = Stats(), Origin("prefix")
    counter = VerdictCounter(stats.counters, wall=lambda: 6.0)
    tickets = [ticket(origin, committed_us=committed_us), ticket(origin, committed_us=4 * SECOND_US)]
    counter.count(Reports([*tickets], []), has_claims=False)
    latency = stats.counters.latencies["prefix"]
    assert sum(latency.buckets) == (2 if committed_us else 1)
    assert latency.sum_us == (3 if committed_us else 2) * SECOND_US


def test_outboxes_have_latencies_of_their_own() -> None:
    stats = Stats()
    counter = VerdictCounter(stats.counters, wall=lambda: 6.0)
    one, two = Origin("public.events"), Origin("public.commands")
    tickets = [ticket(one, committed_us=5 * SECOND_US), ticket(two, committed_us=1 * SECOND_US)]
    assert counter.count(Reports([*tickets], []), has_claims=False) == {"calm": 2}
    sums = {outbox: latency.sum_us for outbox, latency in stats.counters.latencies.items()}
    assert sums == {"public.events": SECOND_US, "public.commands": 5 * SECOND_US}
