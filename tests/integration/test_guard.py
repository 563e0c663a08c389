"""The slot guard: a slot that is not where it was left is refused with its gap, and the printed steps close it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.fixtures.fix_postgres import MakePostgres
from tests.fixtures.fix_relay import MakePipeline, MakeRelay, Pipeline
from tests.fixtures.process import wait_until
from tests.integration.guard_rig import FAULTS, advance, drop_slot, has_guard, recreate, wait_until_arrived
from tests.integration.printed_steps import last_words, printed_steps, start_as_printed
from tests.integration.replay_rig import backfill

pytestmark = [pytest.mark.core, pytest.mark.kafka]

GAP = re.compile(r"events may be missing, from LSN \S+ \(\S+ \S+ UTC\) to LSN \S+ \(\S+ \S+ UTC\), (.*) rows of the")


@pytest.fixture(params=["a clean stop", "kill -9"])
def left(request: pytest.FixtureRequest, pipeline: Pipeline) -> Pipeline:
    """A pipeline whose relay delivered one event and is gone."""
    relay = pipeline.start_relay()
    wait_until_arrived(pipeline, pipeline.insert())
    wait_until(lambda: has_guard(pipeline), timeout=30, what="the guard has a row")
    if request.param == "kill -9":
        relay.kill()
    else:
        assert relay.stop() == 0
    return pipeline


@pytest.mark.parametrize("fault", FAULTS)
def test_a_slot_that_is_not_as_it_was_left_is_refused_and_the_printed_steps_close_the_gap(
    left: Pipeline, fault: str, tmp_path: Path
) -> None:
    plant, message = FAULTS[fault]
    lost = plant(left)
    said = last_words(left.start_relay(ready=False))
    assert message.format(slot=left.slot, publication=left.publication) in said
    assert GAP.search(said), said
    relay = start_as_printed(left, said, tmp_path)
    wait_until_arrived(left, lost, left.insert())
    assert relay.stop() == 0
    left.start_relay()  # without the flag: nothing is left to accept
    wait_until_arrived(left, left.insert())


def test_the_estimate_counts_the_rows_of_the_gap(left: Pipeline) -> None:
    drop_slot(left)
    for _ in range(7):
        left.insert()

    def estimate() -> str:
        found = GAP.search(last_words(left.start_relay(ready=False)))
        assert found
        return found.group(1)

    # the last event before it may be in it: its commit is behind the last mark
    wait_until(lambda: estimate() in ("about 7", "about 8"), timeout=60, what="Postgres' statistics have the rows")


def test_an_accepted_gap_is_written_down_once(left: Pipeline, tmp_path: Path) -> None:
    lost = recreate(left)
    said = last_words(left.start_relay(ready=False))
    relay = start_as_printed(left, said, tmp_path)
    wait_until_arrived(left, lost)
    [(slot, by, problem, replay, is_forward)] = left.database.execute(
        "SELECT slot, accepted_by, problem, replay, from_lsn < to_lsn AND from_time < to_time FROM cdc_relay.gaps"
    )
    assert (slot, is_forward) == (left.slot, True)
    assert by != "postgres"  # the relay's own role
    assert "made again" in problem and replay in printed_steps(said)
    assert "gap_accepted" in relay.stderr
    assert relay.stop() == 0
    again = left.start_relay("--accept-gap")
    assert "there is no gap to accept" in again.stderr
    assert left.database.execute("SELECT count(*) FROM cdc_relay.gaps") == [(1,)]


@pytest.mark.parametrize("fault", ["dropped", "confirmed beyond the WAL"])
def test_what_has_to_be_made_anew_cannot_be_accepted_away(left: Pipeline, fault: str) -> None:
    FAULTS[fault][0](left)
    said = last_words(left.start_relay("--accept-gap", ready=False))
    assert "cdc-relay setup -c FILE" in said
    assert left.database.execute("SELECT count(*) FROM cdc_relay.gaps") == [(0,)]


def test_a_backfill_closes_the_gap_too(left: Pipeline, make_relay: MakeRelay) -> None:
    lost = FAULTS["dropped"][0](left)
    assert "is gone" in last_words(left.start_relay(ready=False))
    assert backfill(make_relay, left).returncode == 0
    left.start_relay()
    wait_until_arrived(left, lost, left.insert())


def test_a_lost_slot_is_refused_and_the_printed_steps_close_the_gap(
    make_postgres: MakePostgres, make_pipeline: MakePipeline, tmp_path: Path
) -> None:
    server = make_postgres(max_slot_wal_keep_size="16MB", wal_keep_size=0, min_wal_size="32MB", max_wal_size="64MB")
    pipeline = make_pipeline(server=server)
    relay = pipeline.start_relay()
    wait_until_arrived(pipeline, pipeline.insert())
    assert relay.stop() == 0
    lost = pipeline.insert()

    def is_lost() -> bool:
        server.execute("SELECT pg_logical_emit_message(false, 'filler', repeat('x', 8000000))")
        server.execute("SELECT pg_switch_wal()")
        server.execute("CHECKPOINT")
        [(status,)] = server.execute("SELECT wal_status FROM pg_replication_slots")
        return bool(status == "lost")

    wait_until(is_lost, timeout=120, what="the slot is lost")
    said = last_words(pipeline.start_relay(ready=False))
    assert f"replication slot {pipeline.slot} is lost" in said
    start_as_printed(pipeline, said, tmp_path)
    wait_until_arrived(pipeline, lost, pipeline.insert())


def test_a_database_on_another_server_is_refused_and_its_gap_is_told_by_time(left: Pipeline, tmp_path: Path) -> None:
    """As after a restore from a dump, which brings the guard's row along and another system identifier."""
    left.database.execute("ALTER TABLE public.outbox ADD created_at timestamptz NOT NULL DEFAULT now()")
    lost = advance(left)
    left.database.execute("UPDATE cdc_relay.guard SET system_identifier = system_identifier - 1")
    said = last_words(left.start_relay(ready=False))
    assert "this is another server" in said
    assert re.search(r"cdc-relay replay -c FILE --since 2\S+Z; then cdc-relay run -c FILE --accept-gap", said), said
    start_as_printed(left, said, tmp_path)
    wait_until_arrived(left, lost, left.insert())
