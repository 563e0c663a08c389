"""The log's lines about single records: what was tried how often, when it is tried again, and never what is in it."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from datetime import UTC, datetime
from typing import Any

import pytest
from structlog.testing import capture_logs

from cdc_relay.dispatch.dispatch import DispatchOptions
from cdc_relay.dispatch.record_lines import describe_record
from cdc_relay.dispatch.telling_returns import TellingReturns
from cdc_relay.dispatch.telling_traffic import TellingTraffic
from cdc_relay.model import Origin, Policy, Ticket, Transaction
from tests.unit.dispatch_rig import BROKEN, MISSING, POISON, Rig

Lines = list[MutableMapping[str, Any]]


@pytest.fixture
def lines() -> Iterator[Lines]:
    with capture_logs() as captured:
        yield captured


class TellingRig(Rig):
    options = DispatchOptions(copies_dead=True, tells_records=True)


def told(lines: Lines, event: str) -> Lines:
    return [line for line in lines if line["event"] == event]


def ticket(fields: dict[str, bytes | None], *, topic: str = "orders") -> Ticket:
    transaction = Transaction(commit_lsn=0x16B374D848, commit_time_us=0, xid=7)
    origin = Origin("public.outbox", tuple(fields))
    return Ticket(transaction, 1, origin, 0, tuple(fields.values()), [("h", b"header-value")], topic, Policy("r"))


def test_a_record_is_named_by_all_that_is_mapped() -> None:
    given: dict[str, bytes | None] = {"id": b"e1", "type": b"Placed", "correlation_id": b"c1", "tenant": b"acme"}
    assert describe_record(ticket(given)) == {
        "event_id": "e1",
        "type": "Placed",
        "correlation_id": "c1",
        "tenant": "acme",
        "outbox": "public.outbox",
        "topic": "orders",
        "lsn": "16/B374D848",
    }


def test_what_could_not_be_routed_has_no_topic() -> None:
    assert describe_record(ticket({"id": None, "type": b"T"}, topic=""))["topic"] is None


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (b"\x1b[2J", "\\x1b[2J"),
        (b"a\nb", "a\\nb"),
        (b"\xff\xfe", "\\xff\\xfe"),
        ("é".encode(), "é"),
        (b"x" * 1000, "x" * 200 + "…"),
    ],
)
def test_an_id_moves_no_cursor_and_fills_no_page(value: bytes, shown: str) -> None:
    assert describe_record(ticket({"id": value}))["event_id"] == shown


def test_a_record_that_fails_is_told_at_each_try_and_at_its_end(lines: Lines) -> None:
    rig = Rig(eager_sink=True)
    rig.sink.verdict = lambda record: BROKEN if record.topic == "calm" else None
    rig.write(("calm", "k"))
    rig.run(20.0)
    tries = [(line["attempt"], line["max_attempts"], line["log_level"]) for line in told(lines, "outbox_retry")]
    assert tries == [(0, 2, "warning"), (1, 2, "warning")]
    [failed] = told(lines, "outbox_failed")
    assert (failed["attempt"], failed["log_level"], failed["topic"]) == (2, "error", "calm")
    assert (failed["code"], failed["reason"], failed["remedy"]) == ("X", "may pass", "wait")


def test_the_next_try_is_told_as_a_time(lines: Lines) -> None:
    rig = Rig(eager_sink=True)
    rig.sink.verdict = lambda record: BROKEN if record.topic == "calm" else None
    rig.write(("calm", "k"))
    rig.turn(2)
    [line] = told(lines, "outbox_retry")
    assert 0 < (datetime.fromisoformat(line["next_try_at"]) - datetime.now(UTC)).total_seconds() + 60 < 120


def test_what_cannot_pass_is_told_once_as_failed(lines: Lines) -> None:
    rig = Rig(eager_sink=True)
    rig.sink.verdict = lambda record: POISON if record.topic == "calm" else None
    rig.write(("calm", "k"))
    rig.turn(5)
    assert [line["attempt"] for line in told(lines, "outbox_failed")] == [0]
    assert told(lines, "outbox_retry") == []


def test_what_waits_for_its_topic_has_not_failed(lines: Lines) -> None:
    rig = Rig(eager_sink=True)
    rig.sink.sick_topics["calm"] = MISSING
    rig.write(("calm", "k"))
    rig.turn(5)
    assert rig.lot.live()
    assert told(lines, "outbox_retry") == told(lines, "outbox_failed") == []
    assert len(told(lines, "topic_closed")) == 1


def test_an_acknowledged_record_is_told_only_where_that_is_wanted(lines: Lines) -> None:
    rig = Rig(eager_sink=True)
    rig.write(("calm", "k"))
    rig.turn(2)
    assert len(rig.sink.accepted) == 1
    assert told(lines, "outbox_start") == told(lines, "outbox_success") == []
    assert type(rig.dispatch.returns) is not TellingReturns  # at any other level the usual path is as it was
    assert type(rig.dispatch.traffic) is not TellingTraffic
    assert rig.dispatch.publisher._publish == rig.sink.publish


def test_each_acknowledged_record_is_told_at_debug(lines: Lines) -> None:
    rig = TellingRig(eager_sink=True)
    for _ in range(3):
        rig.write(("calm", "k"))
    rig.turn(3)
    found = [(line["event_id"], line["attempt"], line["log_level"]) for line in told(lines, "outbox_success")]
    assert found == [("1", 0, "debug"), ("2", 0, "debug"), ("3", 0, "debug")]


def test_each_try_and_the_copy_of_a_dead_record_are_told_at_debug_when_they_start(lines: Lines) -> None:
    rig = TellingRig(eager_sink=True)
    rig.sink.verdict = lambda record: BROKEN if record.topic == "calm" else None
    rig.write(("calm", "k"), ("other", "k"))
    rig.run(20.0)
    starts = [(line["topic"], line["attempt"]) for line in told(lines, "outbox_start")]
    assert sorted(starts) == [("calm", 0), ("calm", 1), ("calm", 2), ("dlq", 2), ("other", 0)]
    assert {line["log_level"] for line in told(lines, "outbox_start")} == {"debug"}


def test_a_start_comes_before_what_became_of_it(lines: Lines) -> None:
    rig = TellingRig(eager_sink=True)
    rig.write(("strict", "k"))
    rig.turn(3)
    told_lines = [(line["event"], line.get("event_id")) for line in lines if line["event"].startswith("outbox_")]
    assert told_lines == [("outbox_start", "1"), ("outbox_success", "1")]


def test_what_only_waited_for_its_topic_is_at_its_first_try(lines: Lines) -> None:
    rig = TellingRig(eager_sink=True)
    rig.sink.sick_topics["calm"] = MISSING
    rig.write(("calm", "k"))
    rig.turn(5)
    del rig.sink.sick_topics["calm"]
    rig.run(60.0)
    assert [line["attempt"] for line in told(lines, "outbox_success")] == [0]
    assert told(lines, "outbox_start")[-1]["parked_id"]
    assert {line["attempt"] for line in told(lines, "outbox_start")} == {0}
