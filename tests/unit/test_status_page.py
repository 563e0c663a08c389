"""What the loop leaves for `/status`, and what the page makes of it."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from cdc_relay.admin.status.relay_reader import parse_answer, url_of
from cdc_relay.admin.status.report import Relay
from cdc_relay.errors import AwayError
from cdc_relay.http.pages import answer, build_pages
from cdc_relay.http.status import describe, lag_seconds, rate_per_second
from cdc_relay.model import Failure
from cdc_relay.stats import Closure, State, Stats
from tests.unit import frames
from tests.unit.dispatch_rig import POISON
from tests.unit.dispatch_rig import Rig as DispatchRig
from tests.unit.outages_rig import closed_rig
from tests.unit.session_rig import SessionRig, row, transaction

SECOND_US = 1_000_000


def page(stats: Stats) -> dict[str, Any]:
    return dict(json.loads(answer(build_pages(stats), "/status", "").body))


# --- the page


def test_the_page_is_what_the_command_reads() -> None:
    stats = Stats(slot="orders")
    stats.closed_topics = (Closure("bills", Failure("code", "reason", "remedy"), 0.0),)
    stats.enter(State.WAITING, "Kafka does not answer")
    relay = parse_answer(answer(build_pages(stats), "/status", "").body)
    assert isinstance(relay, Relay)
    assert (relay.slot, relay.state, relay.reason) == ("orders", "waiting", "Kafka does not answer")
    assert [topic.topic for topic in relay.closed_topics] == ["bills"]
    assert [error.what for error in relay.errors] == ["waiting: Kafka does not answer"]


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[]", b"{}", b"null", b'{"closed_topics": 1, "errors": []}', b"[" * 100_000, b"\xff"],
    ids=range(8),
)
def test_the_answer_of_another_program_is_not_mistaken_for_a_relay_s(body: bytes) -> None:
    assert parse_answer(body) is None


@pytest.mark.parametrize("name", ["pid", "state", "live", "up_seconds", "closed_topics", "lag_seconds"])
def test_an_answer_with_a_field_of_another_type_is_none(name: str) -> None:
    said = describe(Stats(), now=0.0, wall=0.0)
    assert parse_answer(json.dumps({**said, name: {"a": 1}}).encode()) is None
    assert parse_answer(json.dumps({key: value for key, value in said.items() if key != name}).encode()) is None


@pytest.mark.parametrize("number", ["NaN", "1e999", "-Infinity"])
def test_a_number_that_is_none_is_not_believed(number: str) -> None:
    body = json.dumps(describe(Stats(), now=0.0, wall=0.0) | {"up_seconds": "here"})
    assert parse_answer(body.replace('"here"', "1.5").encode()) is not None
    assert parse_answer(body.replace('"here"', number).encode()) is None


def test_a_newer_relay_may_say_more() -> None:
    said = {**describe(Stats(), now=0.0, wall=0.0), "mood": "fine"}
    assert parse_answer(json.dumps(said).encode()) is not None


@pytest.mark.parametrize(
    ("address", "url"),
    [
        (("127.0.0.1", 9464), "http://127.0.0.1:9464"),
        (("0.0.0.0", 1), "http://127.0.0.1:1"),
        (("::", 1), "http://[::1]:1"),
        (("fe80::1", 1), "http://[fe80::1]:1"),
        (("relay.internal", 80), "http://relay.internal:80"),
    ],
)
def test_a_relay_that_listens_everywhere_is_asked_on_this_machine(address: tuple[str, int], url: str) -> None:
    assert url_of(address) == url


def test_a_loop_that_stands_still_is_not_live_on_the_page() -> None:
    stats = Stats()
    stats.enter(State.STREAMING)
    seen = describe(stats, now=stats.last_turn_at + 31, wall=0.0)
    assert (seen["live"], "not turned for 31 s" in str(seen["reason"])) == (False, True)


# --- the rate


def test_the_rate_is_that_of_the_last_ten_seconds() -> None:
    samples = tuple((float(second), second * 100) for second in range(20))
    assert rate_per_second(samples, (20.0, 3_000)) == pytest.approx(200.0)  # 1,000 at 10 s


def test_without_an_earlier_sample_there_is_no_rate() -> None:
    assert rate_per_second((), (5.0, 10)) is None
    assert rate_per_second(((4.9, 10),), (5.0, 10)) is None


def test_a_relay_that_has_not_sampled_for_long_is_measured_since_then() -> None:
    assert rate_per_second(((0.0, 0), (1.0, 100)), (101.0, 100)) == 0.0


def test_the_loop_samples_once_a_second_and_keeps_eleven() -> None:
    rig = SessionRig(eager=True)
    rig.run_until(60)
    times = [at for at, _ in rig.stats.samples]
    assert len(times) == 11
    assert all(1 <= later - earlier < 3 for earlier, later in pairwise(times))


def test_what_was_published_is_in_the_samples() -> None:
    rig = SessionRig(eager=True)
    rig.run_until(3)
    rig.stream.frames.extend(transaction(100, 1, 2, 3))
    rig.run_until(3)
    assert (rig.stats.samples[0][1], rig.stats.samples[-1][1]) == (0, 3)
    assert rig.stats.last_delivered_at is not None


# --- the lag


def late_transaction(end_lsn: int, number: int, *, late_us: int) -> list[bytes]:
    sent_us = frames.EPOCH_US + late_us
    begin, commit = frames.begin(end_lsn - 1, sent_us=sent_us), frames.commit(end_lsn, sent_us=sent_us)
    return [begin, frames.relation(), row(number), commit]


def test_the_oldest_unsettled_commit_is_the_lag() -> None:
    rig = SessionRig(*transaction(100, 1))
    rig.run_until(3)
    assert rig.stats.oldest_commit_us == frames.EPOCH_US
    assert lag_seconds(rig.stats, frames.EPOCH_US / 1e6 + 42) == 42.0


def test_a_settled_transaction_that_was_sent_late_says_how_late() -> None:
    rig = SessionRig(*late_transaction(100, 1, late_us=7 * SECOND_US), eager=True)
    rig.turn(3)
    rig.stats.enter(State.STREAMING)
    rig.clock.now += 1
    rig.stream.frames.extend(late_transaction(200, 2, late_us=9 * SECOND_US))
    rig.turn(2)
    assert (rig.stats.oldest_commit_us, lag_seconds(rig.stats, 0.0)) == (None, 9.0)


def test_a_reader_to_whom_nothing_more_comes_has_no_lag() -> None:
    rig = SessionRig(*late_transaction(100, 1, late_us=7 * SECOND_US), eager=True)
    rig.run_until(5)
    assert lag_seconds(rig.stats, 0.0) == 0.0


@pytest.mark.parametrize("state", [State.WAITING, State.RELEASED])
def test_a_relay_without_a_line_knows_only_of_what_it_had_read(state: State) -> None:
    rig = SessionRig(*transaction(100, 1))
    rig.run_until(3)
    rig.stats.enter(state, "gone")
    assert lag_seconds(rig.stats, frames.EPOCH_US / 1e6 + 42) == 42.0
    settled = SessionRig(*transaction(100, 1), eager=True)
    settled.run_until(3)
    settled.stats.enter(state, "gone")
    assert lag_seconds(settled.stats, 0.0) is None


@pytest.mark.parametrize("state", [State.STARTING, State.STANDBY])
def test_who_does_not_read_does_not_know_the_lag(state: State) -> None:
    stats = Stats()
    stats.oldest_commit_us, stats.lag_us = 1, 0
    stats.enter(state)
    stats.state = state
    assert lag_seconds(stats, 9.0) is None


# --- what went wrong


def test_the_same_trouble_is_one_note_with_its_count_and_the_newest_is_first() -> None:
    stats = Stats()
    for what in ("a", "b", "a"):
        stats.note(what)
    errors = page(stats)["errors"]
    assert [(error["what"], error["count"]) for error in errors] == [("a", 2), ("b", 1)]
    assert errors[0]["first_at"] <= errors[1]["at"] <= errors[0]["at"]


def test_the_notes_are_bounded() -> None:
    stats = Stats()
    for number in range(100):
        stats.note(str(number))
    assert [note.what for note in stats.notes] == [str(number) for number in range(80, 100)]


def test_a_state_with_a_reason_is_noted_unless_it_is_no_trouble() -> None:
    stats = Stats()
    stats.enter(State.STANDBY, "the slot is in use")
    stats.enter(State.HOLDING, "the broker acknowledges nothing")
    stats.enter(State.STREAMING)
    assert [note.what for note in stats.notes] == ["holding: the broker acknowledges nothing"]


def test_a_closed_topic_is_shown_with_its_reason_until_it_is_open() -> None:
    rig = closed_rig()
    [closure] = rig.stats.closed_topics
    assert (closure.topic, closure.failure.remedy != "") == ("calm", True)
    assert any(note.what.startswith("topic calm is closed: ") for note in rig.stats.notes)
    rig.sink.sick_topics.clear()
    rig.run(60)
    assert rig.stats.closed_topics == ()


def test_dead_records_are_noted_without_their_ids_and_counted() -> None:
    rig = DispatchRig()
    rig.write(("calm", "a"), ("calm", "b"))
    rig.turn()
    for out in rig.out():
        rig.reject(out, POISON)
    rig.turn(3)
    assert rig.stats.dead_count == 2
    [note] = rig.stats.notes
    assert (note.times, "is dead" in note.what, "id" in note.what) == (2, True, False)


def test_a_check_that_failed_is_noted() -> None:
    rig = SessionRig()
    rig.run_until(11)
    rig.checks.futures[0].set_exception(AwayError("Postgres' catalog could not be read"))
    rig.turn(2)
    assert [note.what for note in rig.stats.notes] == ["check failed: Postgres' catalog could not be read"]
