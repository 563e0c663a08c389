"""What must hold before the relay may read: every finding with the command that repairs it. Facts in, findings out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdc_relay.errors import RefusedError
from cdc_relay.routing.router import Outbox
from cdc_relay.sources.catalog import Facts, PublicationFacts, SlotFacts, TableFacts
from cdc_relay.sources.preflight import (
    Finding,
    Wanted,
    find_problems,
    names_us_as_standby,
    refuse,
    standby_finding,
)

US = "cdc-relay:orders"
COLUMNS = ("id", "aggregatetype", "aggregateid", "type", "payload")
OUTBOX = Outbox("public", "outbox", "public.outbox", "id", "aggregateid", "type", "payload")
WANTED = Wanted("orders", "orders", (OUTBOX,))
SLOT = SlotFacts("pgoutput", "shop", two_phase=False, temporary=False, wal_status="reserved", confirmed_lsn=100)
PUBLICATION = PublicationFacts("16400", all_tables=False, insert=True, via_root=True)
TABLE = TableFacts(
    partitioned=False,
    logged=True,
    under_root=False,
    columns=COLUMNS,
    member="table 16401",
    row_filter="",
    column_list=(),
)
GOOD = Facts(
    server_version=150014,
    database="shop",
    wal_level="logical",
    synchronous_standby_names="",
    wal_lsn=200,
    slot=SLOT,
    publication=PUBLICATION,
    tables={("public", "outbox"): TABLE},
)


def with_slot(**changes: Any) -> Facts:
    return replace(GOOD, slot=replace(SLOT, **changes))


def with_publication(**changes: Any) -> Facts:
    return replace(GOOD, publication=replace(PUBLICATION, **changes))


def with_table(**changes: Any) -> Facts:
    return replace(GOOD, tables={("public", "outbox"): replace(TABLE, **changes)})


def test_a_good_server_has_no_findings() -> None:
    assert list(find_problems(GOOD, WANTED)) == []


@pytest.mark.parametrize(
    "facts",
    [
        with_publication(all_tables=True),
        with_table(member="all"),
        with_table(member="schema 16402"),
        with_table(row_filter="(id IS NOT NULL)"),
        with_table(column_list=COLUMNS),
        with_table(columns=(*COLUMNS, "note")),
        with_table(partitioned=True),
        with_slot(wal_status="extended"),
        with_slot(wal_status="unreserved"),
        replace(GOOD, server_version=180004),
        replace(GOOD, synchronous_standby_names="FIRST 1 (replica1, replica2)"),
    ],
)
def test_what_is_only_unusual_is_no_finding(facts: Facts) -> None:
    assert list(find_problems(facts, WANTED)) == []


@pytest.mark.parametrize(
    ("facts", "problem", "remedy"),
    [
        (replace(GOOD, server_version=140011), "Postgres 14 is too old", "Postgres 15 or newer"),
        (replace(GOOD, wal_level="replica"), "wal_level is replica", "ALTER SYSTEM SET wal_level = 'logical'"),
        (replace(GOOD, slot=None), "no replication slot orders", "cdc-relay setup"),
        (with_slot(plugin="test_decoding"), "test_decoding", "pg_drop_replication_slot('orders')"),
        (with_slot(plugin="", database=""), "physical slot", "pg_drop_replication_slot('orders')"),
        (with_slot(database="crm"), "belongs to database crm", "connect to crm"),
        (with_slot(two_phase=True), "two_phase", "pg_drop_replication_slot('orders')"),
        (with_slot(temporary=True), "temporary", "pg_drop_replication_slot('orders')"),
        (with_slot(wal_status="lost"), "is lost: Postgres removed WAL", "pg_drop_replication_slot('orders')"),
        (with_slot(wal_status="lost", invalidation="wal_removed"), "is lost: Postgres removed WAL", "drop_repl"),
        (with_slot(wal_status="lost", invalidation="idle_timeout"), "invalidated it (idle_timeout)", "drop_repl"),
        (replace(GOOD, publication=None), "no publication orders", "cdc-relay setup"),
        (with_publication(insert=False), "does not publish inserts", "SET (publish = 'insert')"),
        (replace(GOOD, tables={}), "no table public.outbox", "outboxes[].table"),
        (with_table(columns=COLUMNS[:4]), "no column payload", "outboxes[].columns"),
        (with_table(columns=("id", "type")), "aggregateid, payload, aggregatetype", "outboxes[].columns"),
        (with_table(logged=False), "unlogged", "ALTER TABLE public.outbox SET LOGGED"),
        (with_table(member=""), "does not have table", "ALTER PUBLICATION orders ADD TABLE public.outbox"),
        (with_table(under_root=True), "under the root's name", "name the partitioned table"),
        (with_table(column_list=COLUMNS[:4]), "leaves out column payload", "ADD TABLE public.outbox"),
        (replace(GOOD, synchronous_standby_names="*"), "synchronous standby", "synchronous_standby_names"),
    ],
)
def test_each_problem_is_one_finding_with_its_remedy(facts: Facts, problem: str, remedy: str) -> None:
    [finding] = find_problems(facts, WANTED)
    assert problem in finding.problem
    assert remedy in finding.remedy


def test_a_partitioned_outbox_needs_a_publication_that_names_the_root() -> None:
    facts = replace(with_table(partitioned=True), publication=replace(PUBLICATION, via_root=False))
    [finding] = find_problems(facts, WANTED)
    assert "is partitioned" in finding.problem
    assert finding.remedy == "ALTER PUBLICATION orders SET (publish_via_partition_root = true)"


def test_a_table_is_judged_without_a_publication_too() -> None:
    facts = replace(with_table(logged=False, member=""), publication=None)
    problems = [finding.problem for finding in find_problems(facts, WANTED)]
    assert len(problems) == 2
    assert "no publication" in problems[0]
    assert "unlogged" in problems[1]


def test_a_publication_is_quoted_where_sql_needs_it() -> None:
    wanted = replace(WANTED, publication='Order "s"', publication_label='"Order ""s"""')
    [finding] = find_problems(with_table(member=""), wanted)
    assert finding.remedy.startswith('ALTER PUBLICATION "Order ""s""" ADD TABLE public.outbox')


def test_each_outbox_is_judged_by_itself() -> None:
    second = Outbox("sales", "outbox", "sales.outbox", "id", "aggregateid", "type", "payload")
    third = Outbox("crm", "outbox", "crm.outbox", "id", "aggregateid", "type", "payload")
    facts = replace(GOOD, tables={**GOOD.tables, ("crm", "outbox"): replace(TABLE, member="")})
    problems = [finding.problem for finding in find_problems(facts, replace(WANTED, outboxes=(OUTBOX, second, third)))]
    assert problems == ["there is no table sales.outbox", "publication orders does not have table crm.outbox"]


# --- refusing


def test_nothing_to_refuse_is_not_refused() -> None:
    refuse([])


def test_all_findings_are_refused_at_once_each_with_its_remedy() -> None:
    with pytest.raises(RefusedError) as raised:
        refuse(find_problems(replace(GOOD, wal_level="minimal", slot=None, publication=None), WANTED))
    said = str(raised.value)
    assert said.startswith("wal_level is minimal")
    assert said.count("also: ") == 2
    assert said.count("what to do: ") == 3


def test_a_finding_keeps_its_words() -> None:
    with pytest.raises(RefusedError) as raised:
        refuse([Finding("it is wrong", "make it right")])
    assert (raised.value.message, raised.value.remedy) == ("it is wrong", "make it right")


# --- synchronous_standby_names, as syncrep_scanner.l and syncrep_gram.y read it


@pytest.mark.parametrize(
    "setting",
    [
        "*",
        '"*"',
        f'"{US}"',
        f'"{US.upper()}"',
        f'  "{US}"  ',
        f'FIRST 1 ("{US}")',
        f'first 2 (a, "{US}", b)',
        f'FIRST 1("{US}")',
        f'ANY 1 (replica1, "{US}")',
        "any 2 (a, *)",
        "ANY 1 (*)",
        f'2 (a, "{US}")',
        f'2("{US}")',
        f'a, b, "{US}"',
        "a, *",
        "FIRST 1 (\n  a,\n  *\n)",
        f'\tANY\t1\t(\ta\t,\t"{US}"\t)\t',
    ],
)
def test_a_setting_that_makes_commits_wait_for_us_is_recognised(setting: str) -> None:
    assert names_us_as_standby(setting, US)


@pytest.mark.parametrize(
    "setting",
    [
        "",
        "  ",
        "replica1",
        "FIRST 1 (replica1, replica2)",
        "ANY 2 (a, b, c)",
        f'"{US}2"',
        f'"x{US}"',
        '"cdc-relay:order"',
        '"cdc-relay"',
        f'"{US}:catalog"',
        '"a*"',
        "first",
        "any",
    ],
)
def test_a_setting_without_us_is_none_of_our_business(setting: str) -> None:
    assert not names_us_as_standby(setting, US)


@pytest.mark.parametrize("setting", [f'"real,{US}"', '"real,*"', f'"{US}"""', '"(*)"'])
def test_a_quoted_name_is_one_name_whatever_is_in_it(setting: str) -> None:
    assert not names_us_as_standby(setting, US)


@given(
    st.lists(st.text(st.characters(exclude_characters='*"\0', exclude_categories=["Cs"]), min_size=1, max_size=20)),
    st.sampled_from(["", "FIRST 1 ", "ANY 2 ", "3 ", "first 1", "any 1"]),
    st.integers(min_value=0),
)
def test_our_name_is_found_at_any_place_in_any_list(others: list[str], method: str, place: int) -> None:
    names = [f'"{name}"' for name in others]
    names.insert(place % (len(names) + 1), f'"{US}"')
    listed = ", ".join(names)
    assert names_us_as_standby(f"{method}({listed})" if method else listed, US)


def test_a_name_longer_than_postgres_keeps_is_recognised_as_postgres_keeps_it() -> None:
    """application_name is cut to 63 characters; a slot's name alone may be as long."""
    wanted = Wanted("s" * 63, "orders", (OUTBOX,))
    visible = f"cdc-relay:{wanted.slot}"[:63]
    [finding] = find_problems(replace(GOOD, synchronous_standby_names=f'"{visible}"'), wanted)
    assert "synchronous standby" in finding.problem


def test_the_standby_finding_names_the_setting_and_us() -> None:
    finding = standby_finding(US, "ANY 1 (*)")
    assert "synchronous_standby_names (ANY 1 (*))" in finding.problem
    assert US in finding.problem
    assert US in finding.remedy
