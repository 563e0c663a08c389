"""What the guard makes of a slot: refused with a gap, or normal and said."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from cdc_relay.routing.router import Outbox
from cdc_relay.sources.catalog import Facts, PublicationFacts, SlotFacts, TableFacts
from cdc_relay.sources.gap import Gap, Mark, find_replay
from cdc_relay.sources.guard import Guard, Server, describe_publication, find_notices, find_problem
from cdc_relay.sources.preflight import Wanted

OUTBOX = Outbox("public", "outbox", "public.outbox", "id", "aggregateid", "type", "payload")
WANTED = Wanted("orders", "orders", (OUTBOX,))
TABLE = TableFacts(
    partitioned=False, logged=True, under_root=False, columns=("id",), member="table 7", row_filter="", column_list=()
)
SLOT = SlotFacts("pgoutput", "db", False, False, "reserved", 0x500)
FACTS = Facts(
    server_version=180000,
    database="db",
    wal_level="logical",
    synchronous_standby_names="",
    wal_lsn=0x900,
    slot=SLOT,
    publication=PublicationFacts(oid="1", all_tables=False, insert=True, via_root=True),
    tables={("public", "outbox"): TABLE},
)
BEFORE = Mark(0x400, 700, datetime(2026, 1, 1, 12, tzinfo=UTC), 1000)
NOW = Mark(0x950, 800, datetime(2026, 1, 1, 13, tzinfo=UTC), 1234)
SERVER = Server(system_identifier=77, timeline=1, mark=NOW)
GUARD = Guard(
    system_identifier=77,
    timeline=1,
    publication=describe_publication(FACTS, WANTED),
    seen_lsn=0x480,
    seen_at=datetime(2026, 1, 1, 12, 30, tzinfo=UTC),
    ceiling_lsn=0x500,
    settled=BEFORE,
)
BY_NUMBER = "cdc-relay replay -c FILE --where \"age(xmin) BETWEEN 0 AND age('700'::xid)\""


def test_a_slot_at_the_ceiling_is_as_it_was_left() -> None:
    assert find_problem(GUARD, FACTS, SERVER, WANTED) is None
    assert list(find_notices(GUARD, FACTS, SERVER)) == []


@pytest.mark.parametrize(
    ("slot", "said", "steps"),
    [
        (None, "slot orders is gone", ["cdc-relay setup -c FILE"]),
        (
            replace(SLOT, wal_status="lost"),
            "slot orders is lost (Postgres removed WAL",
            ["SELECT pg_drop_replication_slot('orders')", "cdc-relay setup -c FILE"],
        ),
        (
            replace(SLOT, invalidation="idle_timeout"),
            "slot orders is lost (idle_timeout)",
            ["SELECT pg_drop_replication_slot('orders')", "cdc-relay setup -c FILE"],
        ),
        (
            replace(SLOT, confirmed_lsn=0x951),
            "beyond the end of the server's WAL (0/950)",
            ["SELECT pg_drop_replication_slot('orders')", "cdc-relay setup -c FILE"],
        ),
        (replace(SLOT, confirmed_lsn=0x501), "confirmed no more than 0/500: it was advanced", []),
    ],
)
def test_a_slot_that_is_not_where_it_was_left_is_refused(slot: SlotFacts | None, said: str, steps: list[str]) -> None:
    problem = find_problem(GUARD, replace(FACTS, slot=slot), SERVER, WANTED)
    assert problem is not None
    assert said in problem.finding.problem
    assert problem.finding.remedy.split("; then ") == [*steps, BY_NUMBER, "cdc-relay run -c FILE --accept-gap"]
    assert problem.can_be_accepted is (not steps)


def test_a_refusal_names_the_gap() -> None:
    problem = find_problem(GUARD, replace(FACTS, slot=None), SERVER, WANTED)
    assert problem is not None
    assert (
        "events may be missing, from LSN 0/400 (2026-01-01 12:00:00 UTC) to LSN 0/950 (2026-01-01 13:00:00 UTC),"
        " about 234 rows of the outboxes" in problem.finding.problem
    )


def test_another_server_is_refused_and_its_gap_is_told_by_time() -> None:
    problem = find_problem(GUARD, FACTS, replace(SERVER, system_identifier=78), WANTED)
    assert problem is not None
    assert "another server (system identifier 78)" in problem.finding.problem
    assert problem.gap.replay == "cdc-relay replay -c FILE --since 2026-01-01T11:50:00Z"
    assert problem.can_be_accepted


def test_a_reader_that_confirms_and_leaves_between_two_looks_is_no_gap() -> None:
    """In a rolling update: the facts have the WAL's end from before the slot was read, the server's mark from after."""
    left_just_now = replace(SLOT, confirmed_lsn=FACTS.wal_lsn + 1)
    guard = replace(GUARD, ceiling_lsn=FACTS.wal_lsn + 1)
    assert find_problem(guard, replace(FACTS, slot=left_just_now), SERVER, WANTED) is None


@pytest.mark.parametrize(
    "changed",
    [
        replace(FACTS, publication=PublicationFacts(oid="2", all_tables=False, insert=True, via_root=True)),
        replace(FACTS, tables={("public", "outbox"): replace(TABLE, member="table 8")}),
        replace(FACTS, tables={}),
        replace(FACTS, publication=None),
        replace(FACTS, tables={("public", "outbox"): replace(TABLE, row_filter="(id > 3)")}),
        replace(FACTS, tables={("public", "outbox"): replace(TABLE, column_list=("id",))}),
    ],
)
def test_a_publication_that_changed_is_refused(changed: Facts) -> None:
    problem = find_problem(GUARD, changed, SERVER, WANTED)
    assert problem is not None
    assert "last seen, at LSN 0/480 (2026-01-01 12:30:00 UTC)" in problem.finding.problem
    assert problem.can_be_accepted


def test_before_18_a_slot_that_outlived_its_publication_is_made_anew() -> None:
    anew = PublicationFacts(oid="2", all_tables=False, insert=True, via_root=True)
    problem = find_problem(GUARD, replace(FACTS, publication=anew, server_version=160000), SERVER, WANTED)
    assert problem is not None
    assert problem.finding.remedy.startswith("SELECT pg_drop_replication_slot('orders'); then cdc-relay setup")


def test_messages_are_in_no_table_to_be_replayed() -> None:
    prefix = replace(OUTBOX, schema="", name="", label="message outbox", message_prefix="outbox")
    alone = find_problem(GUARD, replace(FACTS, slot=None), SERVER, replace(WANTED, outboxes=(prefix,)))
    both = find_problem(GUARD, replace(FACTS, slot=None), SERVER, replace(WANTED, outboxes=(OUTBOX, prefix)))
    assert alone is not None and both is not None
    assert "replay" not in alone.finding.remedy and "ask the producers" in alone.finding.remedy
    assert BY_NUMBER in both.finding.remedy and "ask the producers" in both.finding.remedy


def test_another_publication_of_the_file_is_a_change_too() -> None:
    assert find_problem(GUARD, FACTS, SERVER, replace(WANTED, publication="others")) is not None


def test_an_outbox_more_or_less_in_the_file_is_no_change_of_the_others() -> None:
    more = replace(FACTS, tables={**FACTS.tables, ("public", "commands"): replace(TABLE, member="table 9")})
    both = replace(WANTED, outboxes=(OUTBOX, replace(OUTBOX, name="commands", label="public.commands")))
    assert find_problem(GUARD, more, SERVER, both) is None
    guard = replace(GUARD, publication=describe_publication(more, both))
    assert find_problem(guard, more, SERVER, WANTED) is None


def test_confirmed_below_the_ceiling_is_normal_and_said() -> None:
    facts = replace(FACTS, slot=replace(SLOT, confirmed_lsn=0x450))
    assert find_problem(GUARD, facts, SERVER, WANTED) is None
    [notice] = find_notices(GUARD, facts, SERVER)
    assert "confirmed up to 0/450" in notice and "0/500" in notice


def test_another_timeline_with_the_slot_present_is_normal_and_said() -> None:
    promoted = replace(SERVER, timeline=2)
    assert find_problem(GUARD, FACTS, promoted, WANTED) is None
    [notice] = find_notices(GUARD, FACTS, promoted)
    assert "timeline 2, it was on 1" in notice


def test_a_synchronized_slot_may_be_ahead_of_the_guard_after_a_failover_and_only_then() -> None:
    facts = replace(FACTS, slot=replace(SLOT, confirmed_lsn=0x501, synced=True))
    assert find_problem(GUARD, facts, replace(SERVER, timeline=2), WANTED) is None
    assert "the synchronized slot is at 0/501" in list(find_notices(GUARD, facts, replace(SERVER, timeline=2)))[1]
    assert find_problem(GUARD, facts, SERVER, WANTED) is not None
    by_hand = replace(FACTS, slot=replace(SLOT, confirmed_lsn=0x501))
    assert find_problem(GUARD, by_hand, replace(SERVER, timeline=2), WANTED) is not None


def test_statistics_that_were_reset_give_no_estimate() -> None:
    assert Gap(BEFORE, replace(NOW, rows=3), "").row_estimate is None
    assert "an unknown number of rows" in str(Gap(BEFORE, replace(NOW, rows=3), ""))


def test_numbers_that_have_come_around_choose_every_row() -> None:
    assert find_replay(BEFORE, replace(NOW, xid=BEFORE.xid + (1 << 31)), same_server=True) == "cdc-relay replay -c FILE"
    wrapped = replace(BEFORE, xid=(1 << 32) + 5)
    assert "age('5'::xid)" in find_replay(wrapped, replace(NOW, xid=(1 << 32) + 9), same_server=True)
