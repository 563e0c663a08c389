"""`cdc-relay dlq retry`, `discard` and `cancel` on a real Postgres: every change, every refusal, every question."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cdc_relay.cli import output
from cdc_relay.errors import ConfigError
from cdc_relay.parking.postgres_lot import PostgresLot
from tests.fixtures.dlq_lot import NO_MORE, SLOT, Lot, heard, on_a_terminal
from tests.fixtures.fix_postgres import Database

pytestmark = pytest.mark.core


@pytest.fixture
def lot(database: Database, tmp_path: Path) -> Lot:
    return Lot(database, tmp_path)


def answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if somebody sat there."""
    monkeypatch.setattr(output, "has_terminal", lambda: True)


# --- retry


@pytest.mark.parametrize("status", ["dead", "retrying"])
def test_a_retry_is_due_now_with_fresh_tries_and_keeps_the_error(lot: Lot, status: str) -> None:
    record = lot.park(status, attempts=5, suspicion=2, last_error="it broke", next_retry_at="2999-01-01 00:00:00+00")
    assert lot.ok("retry", record) == f"record {record}: due now\n"
    row = lot.row(record)
    assert (row["status"], row["reason"], row["attempts"], row["suspicion"]) == ("retrying", "failure", 0, 0)
    assert row["next_retry_at"] <= row["now"]
    assert row["last_error"] == "it broke"
    [entry] = row["edits"]
    assert (entry["what"], entry["by"]) == ("retry", lot.role)
    assert entry["before"] == {"status": status, "attempts": 5}


@pytest.mark.parametrize(
    ("status", "columns", "why"),
    [
        ("behind", {"strict": True}, "waits for an earlier record of its key"),
        ("scheduled", {"scheduled_at": "2999-01-01 00:00:00+00"}, "cancel it"),
        ("retrying", {"reason": "topic_closed"}, "waits for its topic"),
        ("retrying", {"claimed_at": "now"}, "is being published at this moment"),
        *((status, {}, why) for status, why in NO_MORE),
    ],
)
def test_a_retry_in_the_wrong_state_is_refused_with_why(
    lot: Lot, status: str, columns: dict[str, Any], why: str
) -> None:
    record = lot.park(status, **columns)
    before = lot.row(record)
    message = lot.left_alone("retry", record)
    assert why in message
    assert "what to do: " in message
    assert before | {"now": 0} == lot.row(record) | {"now": 0}


def test_a_claim_that_was_abandoned_does_not_keep_from_retrying(lot: Lot) -> None:
    record = lot.park("retrying", claimed_at="2020-01-01 00:00:00+00", attempts=3)
    lot.ok("retry", record)
    assert (lot.row(record)["claimed_at"], lot.row(record)["attempts"]) == (None, 0)


def test_of_many_the_wrong_ones_are_said_and_the_others_done(lot: Lot) -> None:
    good, published = lot.park(), lot.park("published")
    result = lot("retry", good, published, "nobody", "--yes")
    assert result.exit_code == 3
    assert f"record {good}: due now" in result.stdout
    assert f"record {published} is published already" in result.stderr
    assert "there is no record nobody" in result.stderr
    assert lot.statuses(good, published) == ["retrying", "published"]


def test_retry_all_takes_what_the_filters_find(lot: Lot) -> None:
    wanted = [lot.park(topic="a"), lot.park("retrying", topic="a")]
    others = [
        lot.park(topic="b"),
        lot.park("behind", topic="a"),
        lot.park("retrying", topic="a", reason="topic_closed"),
    ]
    lot.ok("retry", "--all", "--where", "topic=a", "--yes")
    assert lot.statuses(*wanted) == ["retrying", "retrying"]
    assert [len(lot.row(record)["edits"]) for record in wanted + others] == [1, 1, 0, 0, 0]


def test_retry_all_that_finds_nothing_does_nothing(lot: Lot) -> None:
    assert "no such record" in lot.ok("retry", "--all", "--topic", "nothing")


@pytest.mark.parametrize("arguments", [(), ("1", "--all"), ("1", "--topic", "x")])
def test_a_retry_that_names_no_records_or_two_ways_is_a_usage_error(lot: Lot, arguments: tuple[str, ...]) -> None:
    assert lot("retry", *arguments).exit_code == 2


@pytest.mark.parametrize(
    "arguments", [("retry", "--all"), ("retry", "1", "2"), ("discard", "1", "2", "--reason", "x"), ("cancel", "3", "4")]
)
def test_a_bulk_action_without_a_terminal_and_without_yes_is_refused_with_2(
    lot: Lot, arguments: tuple[str, ...]
) -> None:
    ids = [lot.park(), lot.park(), lot.park("scheduled"), lot.park("scheduled")]
    message = lot.refused(*arguments, kind=ConfigError)
    assert "2 records of slot orders?" in message
    assert "--yes" in message
    assert lot.statuses(*ids) == ["dead", "dead", "scheduled", "scheduled"]


def test_a_bulk_action_asks_and_takes_no_for_an_answer(lot: Lot, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [lot.park(), lot.park()]
    answers(monkeypatch)
    result = lot("retry", "--all", stdin="n\n")
    assert result.exit_code == 1
    assert "retry 2 records of slot orders?" in result.stderr
    assert lot.statuses(*ids) == ["dead", "dead"]
    lot.ok("retry", "--all", stdin="y\n")
    assert lot.statuses(*ids) == ["retrying", "retrying"]


def test_all_of_one_record_asks_too(lot: Lot) -> None:
    lot.park()
    assert "retry 1 record of" in lot.refused("retry", "--all", kind=ConfigError)


def test_a_hundred_records_are_counted_not_listed(lot: Lot) -> None:
    for _ in range(100):
        lot.park()
    assert lot.ok("retry", "--all", "--yes") == "100 records: due now\n"


def test_a_question_on_a_real_terminal(lot: Lot) -> None:
    ids = [lot.park(), lot.park()]
    shown = on_a_terminal(lot, "retry", "--all", answer=b"y\n")
    assert "retry 2 records of slot orders? [y/N]" in shown
    assert lot.statuses(*ids) == ["retrying", "retrying"]


# --- discard and cancel


@pytest.mark.parametrize("status", ["dead", "retrying", "behind"])
def test_a_discarded_record_keeps_the_reason(lot: Lot, status: str) -> None:
    record = lot.park(status)
    assert lot.ok("discard", record, "--reason", "a test order") == f"record {record}: discarded\n"
    row = lot.row(record)
    assert (row["status"], row["next_retry_at"]) == ("discarded", None)
    assert row["edits"][0] | {"at": ""} == {
        "at": "",
        "by": lot.role,
        "what": "discard",
        "reason": "a test order",
        "before": {"status": status, "attempts": 0},
    }
    assert "discard: a test order" in lot.ok("show", record)


@pytest.mark.parametrize(("status", "why"), [("scheduled", "cancel it"), *((status, why) for status, why in NO_MORE)])
def test_what_is_done_with_or_scheduled_is_not_discarded(lot: Lot, status: str, why: str) -> None:
    record = lot.park(status)
    assert why in lot.left_alone("discard", record, "--reason", "x")
    assert lot.statuses(record) == [status]


def test_discard_needs_a_reason(lot: Lot) -> None:
    record = lot.park()
    assert lot("discard", record).exit_code == 2
    assert lot("discard", record, "--reason", " ").exit_code == 2
    assert lot.statuses(record) == ["dead"]


def test_discard_all_takes_the_dead_only(lot: Lot) -> None:
    ids = [lot.park(), lot.park("retrying")]
    lot.ok("discard", "--all", "--reason", "x", "--yes")
    assert lot.statuses(*ids) == ["discarded", "retrying"]


def test_a_scheduled_record_is_cancelled(lot: Lot) -> None:
    record = lot.park("scheduled", scheduled_at="2999-01-01 00:00:00+00")
    assert lot.ok("cancel", record) == f"record {record}: cancelled\n"
    assert lot.statuses(record) == ["cancelled"]
    assert lot.row(record)["edits"][0]["what"] == "cancel"


@pytest.mark.parametrize(
    ("status", "why"), [("dead", "not scheduled"), ("retrying", "not scheduled"), ("behind", "not scheduled"), *NO_MORE]
)
def test_only_what_is_scheduled_can_be_cancelled(lot: Lot, status: str, why: str) -> None:
    record = lot.park(status)
    assert why in lot.left_alone("cancel", record)
    assert lot.statuses(record) == [status]


def test_a_scheduled_record_that_is_going_out_cannot_be_cancelled(lot: Lot) -> None:
    assert "at this moment" in lot.left_alone("cancel", lot.park("scheduled", claimed_at="now"))


# --- the running relay hears of it


@pytest.mark.parametrize(
    ("status", "arguments"),
    [
        ("dead", ("retry", "1")),
        ("dead", ("discard", "1", "--reason", "x")),
        ("scheduled", ("cancel", "1")),
        ("dead", ("edit", "1", "--retry", "--file", "-")),
        ("dead", ("import", "-", "--retry")),
    ],
)
def test_every_change_is_heard_by_a_listener(lot: Lot, status: str, arguments: tuple[str, ...]) -> None:
    lot.park(status)
    stdin = lot.document(1) if "edit" in arguments else lot.ok("export") if "import" in arguments else None
    with heard(lot) as payloads:
        lot.ok(*arguments, stdin=stdin)
        assert payloads() == [SLOT]


def test_what_is_edited_and_retried_is_what_the_relay_claims(lot: Lot) -> None:
    record = lot.park(value=b'{"total": ', attempts=5, last_error="invalid JSON")
    relay = PostgresLot(
        lot.database.dsn(lot.database.create_relay_role()),
        slot=SLOT,
        limit_records=100,
        limit_bytes=1 << 20,
        policies={},
    )
    relay.open()
    try:
        assert relay.claim_due(closed_topics=(), limit=10) == []
        relay.was_notified = False
        lot.edit(record, lot.document(record).replace('{"total": ', '{"total": 1.10}'), "--retry")
        [claim] = relay.claim_due(closed_topics=(), limit=10)
        assert claim.record is not None
        assert (claim.id, claim.attempts, claim.record.value) == (record, 1, b'{"total": 1.10}')
        assert relay.was_notified
        assert "is being published at this moment" in lot.left_alone("retry", record)
    finally:
        relay.close()
