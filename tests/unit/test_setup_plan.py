"""What setup decides to make, from facts alone."""

from __future__ import annotations

from dataclasses import replace

from cdc_relay.admin.setup_plan import SetupPlan, as_if_made, plan_setup
from cdc_relay.routing.router import Outbox
from cdc_relay.sources.catalog import Facts, PublicationFacts, SlotFacts, TableFacts
from cdc_relay.sources.preflight import Wanted, find_problems

COLUMNS = ("id", "aggregatetype", "aggregateid", "type", "payload")
ORDERS = Outbox("public", "orders", "public.orders", "id", "aggregateid", "type", "payload")
COMMANDS = Outbox("public", "commands", "public.commands", "id", "aggregateid", "type", "payload")
WANTED = Wanted("relay_slot", "relay_publication", (ORDERS, COMMANDS))

SLOT = SlotFacts("pgoutput", "shop", two_phase=False, temporary=False, wal_status="reserved", confirmed_lsn=7)
PUBLICATION = PublicationFacts("16400", all_tables=False, insert=True, via_root=True)
ABSENT = TableFacts(
    partitioned=True, logged=True, under_root=False, columns=COLUMNS, member="", row_filter="", column_list=()
)
MEMBER = replace(ABSENT, member="table 16401")
COMPLETE = Facts(
    server_version=180000,
    database="shop",
    wal_level="logical",
    synchronous_standby_names="",
    wal_lsn=9,
    slot=SLOT,
    publication=PUBLICATION,
    tables={("public", "orders"): MEMBER, ("public", "commands"): MEMBER},
)
EMPTY = replace(
    COMPLETE, slot=None, publication=None, tables={("public", "orders"): ABSENT, ("public", "commands"): ABSENT}
)


def test_an_empty_database_needs_everything() -> None:
    assert plan_setup(EMPTY, WANTED) == SetupPlan(create_publication=True, add_tables=(), create_slot=True)


def test_a_complete_one_needs_nothing() -> None:
    assert plan_setup(COMPLETE, WANTED) == SetupPlan(create_publication=False, add_tables=(), create_slot=False)


def test_only_the_absent_table_is_added() -> None:
    facts = replace(COMPLETE, tables={("public", "orders"): MEMBER, ("public", "commands"): ABSENT})
    assert plan_setup(facts, WANTED).add_tables == (COMMANDS,)


def test_what_setup_makes_satisfies_run() -> None:
    assert list(find_problems(as_if_made(EMPTY), WANTED)) == []


def test_what_is_there_is_judged_as_it_is() -> None:
    facts = replace(EMPTY, slot=replace(SLOT, plugin="test_decoding"), wal_level="replica")
    problems = [finding.problem for finding in find_problems(as_if_made(facts), WANTED)]
    assert len(problems) == 2
    assert "wal_level" in problems[0]
    assert "test_decoding" in problems[1]


def test_a_table_that_is_not_there_stays_a_problem() -> None:
    facts = replace(EMPTY, tables={("public", "orders"): ABSENT})
    [finding] = find_problems(as_if_made(facts), WANTED)
    assert "public.commands" in finding.problem
