"""Our records beside those that a real Debezium made of the same rows: tests/golden/debezium_wire.json, no Java needed.

`make compare-debezium` records the file anew and compares the running relay too.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
import yaml

from cdc_relay.config.loader import parse
from cdc_relay.model import Record, Transaction
from cdc_relay.protocol.messages import Relation
from cdc_relay.routing.router import Router
from cdc_relay.target import wanted_of
from tests.compare.case import Case
from tests.compare.corpus import CASES, find_case
from tests.compare.differences import CHOICES, stale_places, unexplained
from tests.compare.golden import GoldenCase, load
from tests.compare.wire import Outcome, Stopped, Wire, parts_that_differ, spell
from tests.fixtures.relay_process import relay_config

GOLDEN = load()
EVERY_ROW = [(case.name, row) for case in CASES for row in case.rows]


def our_router(case: Case) -> Router:
    config = relay_config("host=nowhere", "slot", case.name, f"public.{case.name}", "nowhere:9092")
    text = yaml.safe_dump({**config, "outboxes": [case.outbox_config()]})
    return Router(wanted_of(parse(text, file=f"{case.name}.yaml", environment={}, folder=Path())).outboxes)


@cache
def our_outcomes(case_name: str) -> dict[str, Outcome]:
    case, golden = find_case(case_name), GOLDEN[case_name]
    plan = our_router(case).plan(Relation(1, "public", case.name, "d", golden.columns), now_us=lambda: 0)
    assert plan is not None
    transaction = Transaction(commit_lsn=1, commit_time_us=1_700_000_000_000_000, xid=1)
    return {
        row: outcome_of(case, row, plan.route(values, transaction, 0, 1_700_000_000_000))
        for row, values in golden.rows.items()
    }


def outcome_of(case: Case, row: str, routed: object) -> Outcome:
    if not isinstance(routed, Record):
        return Stopped("parked")
    values = case.values(row)
    return Wire(
        topic=routed.topic,
        partition=routed.partition if routed.partition >= 0 else None,  # else it is the producer's partitioner
        key=spell(routed.key),
        value=spell(routed.value),
        headers=[(name, spell(value)) for name, value in routed.headers],
        timestamp_ms=routed.timestamp_ms if case.is_stamped and values["occurred_at"] is not None else None,
    )


def differences_of(case_name: str, row: str) -> list[str]:
    theirs, ours = GOLDEN[case_name].debezium[row], our_outcomes(case_name)[row]
    parts = parts_that_differ(theirs, ours, is_json=find_case(case_name).is_json)
    return [f"{case_name}/{row}:{part}" for part in parts]


@pytest.mark.parametrize(("case_name", "row"), EVERY_ROW)
def test_a_record_is_debezium_s_but_for_the_differences_that_we_chose(case_name: str, row: str) -> None:
    wrong = unexplained(differences_of(case_name, row))
    assert wrong == [], (GOLDEN[case_name].debezium[row], our_outcomes(case_name)[row])


def test_every_chosen_difference_is_still_there() -> None:
    """What the producer makes, partitions among it, is compared by `make compare-debezium` alone."""
    found = [place for case, row in EVERY_ROW for place in differences_of(case, row)]
    assert stale_places(found, has_broker=False) == []


def test_the_golden_file_has_the_corpus_s_cases_and_rows() -> None:
    assert {name: set(case.rows) for name, case in GOLDEN.items()} == {case.name: set(case.rows) for case in CASES}


def test_a_column_that_decides_the_partition_or_the_time_is_recorded() -> None:
    assert isinstance(record := golden_record(GOLDEN["partition"], "last"), Wire)
    assert record.partition == 3
    assert golden_record(GOLDEN["event_timestamp"], "micros").timestamp_ms == 1_767_323_045_678


def golden_record(case: GoldenCase, row: str) -> Wire:
    outcome = case.debezium[row]
    assert isinstance(outcome, Wire)
    return outcome


def test_every_chosen_difference_is_in_the_docs_with_its_reason() -> None:
    page = (Path(__file__).parents[2] / "docs" / "debezium.md").read_text()
    assert [choice.what for choice in CHOICES if f"| {choice.what} | {choice.why} |" not in page] == []
