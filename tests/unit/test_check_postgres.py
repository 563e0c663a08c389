"""The rules of `check` for Postgres: facts in, findings out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cdc_relay.admin.check.finding import Finding, Level
from cdc_relay.admin.check.lot import judge_usage
from cdc_relay.admin.check.postgres_facts import (
    OpenTransaction,
    PreparedTransaction,
    Reader,
    ServerFacts,
    SlotDetails,
    _skew,
)
from cdc_relay.admin.check.server_rules import judge_server, judge_transactions
from cdc_relay.admin.check.slot_rules import judge_slot
from cdc_relay.config import LimitConfig
from tests.unit.test_preflight import GOOD, WANTED, with_slot

GIB = 1 << 30
SERVER = ServerFacts(
    role="relay",
    is_standby=False,
    is_read_only=False,
    skew_seconds=0.1,
    keep_bytes=50 * GIB,
    sender_timeout_seconds=60,
    idle_slot_seconds=0,
    slot_limit=10,
    slot_count=10,
    sender_limit=10,
    sender_count=3,
    standbys=(),
    physical_slots=(),
    idle_physical_slots=(),
    synchronized_slots="",
)
SLOT = SlotDetails(restart_lsn=100, safe_bytes=GIB, failover=False, reader=None)


def judge(server: ServerFacts, *, timeout_seconds: float = 10, has_slot: bool = True) -> list[Finding]:
    found = judge_server(server, timeout_seconds=timeout_seconds, has_slot=has_slot, is_read=False)
    return [*found, *judge_transactions(server)]


def bad(findings: list[Finding]) -> dict[str, Level]:
    return {finding.name: finding.level for finding in findings if finding.level is not Level.OK}


def test_a_good_server_is_all_ok() -> None:
    assert bad(judge(SERVER)) == {}
    assert bad(judge(replace(SERVER, idle_slot_seconds=None, synchronized_slots=None))) == {}


@pytest.mark.parametrize(
    ("server", "name", "level"),
    [
        (replace(SERVER, is_standby=True), "postgres.primary", Level.FAIL),
        (replace(SERVER, is_read_only=True), "postgres.primary", Level.FAIL),
        (replace(SERVER, skew_seconds=-6), "postgres.clock", Level.WARN),
        (replace(SERVER, skew_seconds=6), "postgres.clock", Level.WARN),
        (replace(SERVER, keep_bytes=None), "postgres.max_slot_wal_keep_size", Level.WARN),
        (replace(SERVER, keep_bytes=GIB - 1), "postgres.max_slot_wal_keep_size", Level.WARN),
        (replace(SERVER, idle_slot_seconds=60), "postgres.idle_replication_slot_timeout", Level.WARN),
        (replace(SERVER, sender_count=10), "postgres.wal_senders", Level.FAIL),
        (
            replace(SERVER, writers=(OpenTransaction(1, "app", "", 601),)),
            "postgres.long_transactions",
            Level.WARN,
        ),
        (
            replace(SERVER, prepared=(PreparedTransaction("g", "db", 601),)),
            "postgres.prepared_transactions",
            Level.WARN,
        ),
    ],
)
def test_each_fault_of_the_server_is_one_finding_with_a_fix(server: ServerFacts, name: str, level: Level) -> None:
    found = judge(server)
    assert bad(found) == {name: level}
    assert all(finding.steps for finding in found if finding.level is not Level.OK)


def test_slots_are_only_short_for_who_needs_one() -> None:
    assert bad(judge(SERVER, has_slot=False)) == {"postgres.replication_slots": Level.FAIL}


def test_our_own_timeout_counts_and_not_the_servers() -> None:
    assert bad(judge(replace(SERVER, sender_timeout_seconds=0))) == {}
    assert bad(judge(SERVER, timeout_seconds=301)) == {"postgres.wal_sender_timeout": Level.WARN}


def test_young_transactions_are_nobodys_business() -> None:
    server = replace(
        SERVER, writers=(OpenTransaction(1, "app", "", 599),), prepared=(PreparedTransaction("g", "db", 1),)
    )
    assert bad(judge(server)) == {}


@pytest.mark.parametrize(("now", "skew"), [(99.0, 1.0), (100.0, 0.0), (101.5, 0.0), (102.0, 0.0), (105.0, -3.0)])
def test_the_time_that_an_answer_took_is_no_difference_of_clocks(now: float, skew: float) -> None:
    assert _skew(now, 100.0, 102.0) == skew


# --- the slot


def judge_it(slot: SlotDetails, server: ServerFacts = SERVER, **of_slot: str) -> list[Finding]:
    facts = with_slot(**of_slot) if of_slot else GOOD
    return list(judge_slot(facts, slot, server=server, wanted=WANTED, dsn="host=db password=secret"))


def test_a_good_slot_is_all_ok() -> None:
    assert bad(judge_it(SLOT)) == {}


def test_a_relay_may_read_the_slot_and_another_program_is_named() -> None:
    ours, other = Reader(7, "cdc-relay:orders", "10.0.0.1"), Reader(8, "debezium", "")
    assert bad(judge_it(replace(SLOT, reader=ours))) == {}
    found = judge_it(replace(SLOT, reader=other))
    assert bad(found) == {"postgres.slot.reader": Level.WARN}
    assert "pid 8, debezium" in found[0].found


def test_wal_that_is_kept_is_measured_against_the_limit_or_ten_gigabytes() -> None:
    far = replace(GOOD, wal_lsn=11 * GIB)
    levels = {
        keep: bad(list(judge_slot(far, SLOT, server=replace(SERVER, keep_bytes=keep), wanted=WANTED, dsn="")))
        for keep in (None, 20 * GIB, 30 * GIB)
    }
    assert levels == {
        None: {"postgres.slot.lag": Level.WARN},
        20 * GIB: {"postgres.slot.lag": Level.WARN},
        30 * GIB: {},
    }


def test_a_slot_about_to_be_lost_is_warned_of_and_a_lost_one_is_left_to_the_preflight() -> None:
    assert bad(judge_it(SLOT, wal_status="unreserved")) == {"postgres.slot.wal_status": Level.WARN}
    assert "postgres.slot.wal_status" not in {finding.name for finding in judge_it(SLOT, wal_status="lost")}


def test_failover_is_asked_for_where_there_is_a_standby_and_its_command_has_no_secret() -> None:
    found = judge_it(SLOT, replace(SERVER, standbys=("walreceiver",)))
    assert bad(found) == {"postgres.slot.failover": Level.WARN}
    shown = " ".join(step.text for finding in found for step in finding.steps)
    assert "psql 'host=db replication=database' -c 'ALTER_REPLICATION_SLOT orders (FAILOVER true)'" in shown
    assert "secret" not in shown


def test_a_version_without_failover_slots_is_not_asked() -> None:
    found = judge_it(replace(SLOT, failover=None), replace(SERVER, standbys=("walreceiver",), synchronized_slots=None))
    assert {finding.name for finding in found} == {
        "postgres.slot.reader",
        "postgres.slot.wal_status",
        "postgres.slot.lag",
    }


@pytest.mark.parametrize(
    ("physical_slots", "synchronized", "is_bad"),
    [((), "", True), (("one", "two"), "", True), (("one",), "one", False)],
)
def test_a_failover_slot_must_not_run_ahead_of_the_standbys(
    physical_slots: tuple[str, ...], synchronized: str, is_bad: bool
) -> None:
    server = replace(SERVER, standbys=("walreceiver",), physical_slots=physical_slots, synchronized_slots=synchronized)
    found = bad(judge_it(replace(SLOT, failover=True), server))
    assert found == ({"postgres.synchronized_standby_slots": Level.WARN} if is_bad else {})


def test_a_standby_that_is_away_is_not_waited_for() -> None:
    """The relay would stand still until it is back."""
    server = replace(SERVER, physical_slots=("one",), idle_physical_slots=("two",))
    [found] = [each for each in judge_it(replace(SLOT, failover=True), server) if each.level is Level.WARN]
    assert found.steps[0].text == "ALTER SYSTEM SET synchronized_standby_slots = 'one'"
    [found] = [
        each
        for each in judge_it(replace(SLOT, failover=True), replace(server, physical_slots=()))
        if each.level is Level.WARN
    ]
    assert not any("ALTER SYSTEM" in step.text for step in found.steps)


# --- the lot


@pytest.mark.parametrize(
    ("counts", "byte_count", "expected"),
    [
        ({}, 0, {}),
        ({"retrying": 79}, 0, {}),
        ({"retrying": 40, "behind": 40}, 0, {"lot.size": Level.WARN}),
        ({"scheduled": 1}, 80, {"lot.size": Level.WARN}),
        ({"dead": 1}, 1, {"lot.dead": Level.WARN}),
    ],
)
def test_the_lot_is_warned_of_from_four_fifths_on_and_when_it_has_dead_records(
    counts: dict[str, int], byte_count: int, expected: dict[str, Level]
) -> None:
    limit = LimitConfig.model_validate({"records": 100, "bytes": 100})
    assert bad(list(judge_usage(counts, byte_count, limit))) == expected
