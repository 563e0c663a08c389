"""`cdc-relay dlq` on a real Postgres: the records that an operator finds, and their numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.dlq_lot import Lot
from tests.fixtures.fix_postgres import Database

pytestmark = pytest.mark.core


@pytest.fixture
def lot(database: Database, tmp_path: Path) -> Lot:
    return Lot(database, tmp_path)


# --- list


def test_an_empty_lot_says_so(lot: Lot) -> None:
    assert lot.ok("list") == "the lot of slot orders is empty\n"
    assert json.loads(lot.ok("list", "--json")) == []
    assert lot.ok("stats") == "the lot of slot orders is empty\n"


def test_the_list_has_what_is_not_done_with_newest_first(lot: Lot) -> None:
    live = [lot.park(status) for status in ("dead", "retrying", "behind", "scheduled")]
    lot.park("published")
    assert [row["id"] for row in json.loads(lot.ok("list", "--json"))] == live[::-1]
    assert len(json.loads(lot.ok("list", "--json", "--status", "all"))) == 5


def test_a_line_of_the_list_has_topic_key_event_tries_and_error_but_no_payload(lot: Lot) -> None:
    lot.park(
        event_id="e1",
        event_type="Placed",
        attempts=2,
        error_code="no_route",
        last_error="no route takes it",
        value=b"secret",
    )
    title, line = lot.ok("list").splitlines()
    assert title.split() == ["ID", "STATUS", "NEXT", "TOPIC", "KEY", "EVENT", "TRIES", "AGE", "ERROR"]
    for part in ("orders.events.v1", "4711", "Placed e1", "2/5", " s ", "no_route: no route takes it", "to be decided"):
        assert part in line
    assert "secret" not in line


def test_ages_and_waits_are_in_words(lot: Lot) -> None:
    lot.park("retrying", parked_at="2020-01-01 00:00:00+00", next_retry_at="2020-01-01 00:00:00+00")
    lot.park("retrying", reason="topic_closed")
    lot.park("behind")
    lot.park("scheduled", scheduled_at="2999-01-01 00:00:00+00")
    lot.park("retrying", claimed_at="now")
    printed = lot.ok("list")
    for part in (" d ", "due", "waits for its topic", "waits for its key", "in 3", "being published"):
        assert part in printed


@pytest.mark.parametrize(
    ("option", "value", "columns"),
    [
        ("status", "retrying", {"status": "retrying"}),
        ("route", "refunds", {"route": "refunds"}),
        ("topic", "refunds.v1", {"topic": "refunds.v1"}),
        ("key", "k9", {"key": b"k9"}),
        ("key", "\\xff00", {"key": b"\xff\x00"}),
        ("error-class", "crash", {"error_class": "crash"}),
        ("since", "2h", {"parked_at": "now"}),
        ("since", "2025-06-01T00:00", {"parked_at": "2025-06-01 00:00:00+00"}),
        ("text", "TOO LARGE", {"last_error": "it is too large"}),
        ("text", "e77", {"event_id": "e77"}),
        ("text", "needle", {"value": b"\xff a needle"}),
    ],
)
def test_every_filter_finds_its_record_and_no_other_in_both_spellings(
    lot: Lot, option: str, value: str, columns: dict[str, Any]
) -> None:
    lot.park(parked_at="2020-01-01 00:00:00+00", error_class="transient")
    wanted = lot.park(**{"parked_at": "2020-01-01 00:00:00+00", **columns})
    for spelled in ([f"--{option}", value], ["--where", f"{option}={value}"]):
        assert [row["id"] for row in json.loads(lot.ok("list", "--json", *spelled))] == [wanted]


@pytest.mark.parametrize(
    "arguments",
    [("--since", "soon"), ("--where", "colour=red"), ("--status", "lost"), ("--key", "\\xf"), ("--limit", "0")],
)
def test_a_filter_that_makes_no_sense_is_a_usage_error(lot: Lot, arguments: tuple[str, str]) -> None:
    assert lot("list", *arguments).exit_code == 2


def test_the_list_ends_at_its_limit_and_says_how_many_there_are(lot: Lot) -> None:
    for _ in range(3):
        lot.park()
    result = lot("list", "--limit", "2")
    assert len(result.stdout.splitlines()) == 3
    assert "2 of 3 records" in result.stderr


def test_a_list_that_finds_nothing_says_what_there_is(lot: Lot) -> None:
    lot.park("published")
    assert "it has 1 published" in lot.ok("list")


def test_other_slots_are_not_shown_unless_asked_for(lot: Lot) -> None:
    other = lot.park(slot="elsewhere")
    assert json.loads(lot.ok("list", "--json")) == []
    assert [row["id"] for row in json.loads(lot.ok("list", "--json", "--all-slots"))] == [other]
    assert "elsewhere" in lot.ok("list", "--all-slots")
    assert "elsewhere" in lot.ok("stats", "--all-slots")
    assert "there is no record" in lot.refused("show", other)
    assert lot("retry", other).exit_code == 3
    assert lot.statuses(other) == ["dead"]


# --- which record


def test_an_event_id_works_where_one_record_has_it(lot: Lot) -> None:
    record = lot.park(event_id="7b-1")
    assert f"record {record}:" in lot.ok("show", "7b-1")


def test_an_event_id_of_several_records_lists_them(lot: Lot) -> None:
    first, second = lot.park(event_id="7b-1"), lot.park(event_id="7b-1")
    assert f"{first}, {second}" in lot.refused("show", "7b-1")
    assert f"{first}, {second}" in lot.left_alone("retry", "7b-1")
    assert lot.statuses(first, second) == ["dead", "dead"]


def test_the_number_in_the_lot_comes_before_an_event_id(lot: Lot) -> None:
    first = lot.park()
    second = lot.park(event_id=str(first))
    assert f"record {first}:" in lot.ok("show", first)
    third = lot.park(event_id="900719925474099312345")
    assert f"record {third}:" in lot.ok("show", "900719925474099312345")
    assert second != third


@pytest.mark.parametrize("name", ["99", "9" * 30, "nobody", "-", "x'; DROP TABLE y; --", "\u0663"])
def test_a_wrong_id_is_refused(lot: Lot, name: str) -> None:
    message = lot.refused("show", name)
    assert "there is no record" in message
    assert "dlq list" in message


# --- stats


def test_stats_count_by_status_topic_and_error_class_with_the_oldest(lot: Lot) -> None:
    lot.park(topic="a", error_class="permanent", parked_at="2020-01-01 00:00:00+00")
    lot.park(topic="a", error_class="permanent")
    lot.park("retrying", topic="b", error_class="transient")
    lot.park("published", slot="elsewhere")
    figures = json.loads(lot.ok("stats", "--json"))
    assert [(group["status"], group["topic"], group["error_class"], group["count"]) for group in figures["groups"]] == [
        ("dead", "a", "permanent", 2),
        ("retrying", "b", "transient", 1),
    ]
    assert figures["statuses"]["dead"]["records"] == 2
    assert figures["statuses"]["dead"]["bytes"] == 40
    assert figures["statuses"]["dead"]["oldest_seconds"] > 86_400
    printed = lot.ok("stats")
    assert "STATUS" in printed
    assert "retrying 1, oldest 0 s" in printed
