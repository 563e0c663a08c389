"""The slot guard (DESIGN: D7): a slot that is not where it was left is refused with its gap, and the printed steps close it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.fix_postgres import MakePostgres
from tests.fixtures.fix_relay import MakePipeline, Pipeline, RelayProcess
from tests.fixtures.process import wait_until
from tests.integration.confirmation_rig import wait_until_confirmed, wal_lsn
from tests.integration.printed_steps import last_words, printed_steps, start_as_printed

pytestmark = [pytest.mark.core, pytest.mark.kafka]

GAP = re.compile(r"events may be missing, from LSN \S+ \(\S+ \S+ UTC\) to LSN \S+ \(\S+ \S+ UTC\), (.*) rows of the")


def event_ids(pipeline: Pipeline) -> set[str]:
    return {dict(record.headers() or [])["id"].decode() for record in pipeline.records()}


def wait_until_arrived(pipeline: Pipeline, *ids: str) -> None:
    wait_until(lambda: set(ids) <= event_ids(pipeline), timeout=60, what="every event arrives", every=0.2)


def drop_slot(pipeline: Pipeline) -> None:
    free = "SELECT active_pid IS NULL FROM pg_replication_slots WHERE slot_name = %s"
    wait_until(lambda: pipeline.database.execute(free, [pipeline.slot]) == [(True,)], timeout=30, what="slot is free")
    pipeline.database.execute("SELECT pg_drop_replication_slot(%s)", [pipeline.slot])


def make_slot(pipeline: Pipeline) -> None:
    pipeline.database.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [pipeline.slot])


def lose(pipeline: Pipeline) -> str:
    drop_slot(pipeline)
    return pipeline.insert()


def recreate(pipeline: Pipeline) -> str:
    lost = lose(pipeline)
    make_slot(pipeline)
    return lost


def advance(pipeline: Pipeline) -> str:
    lost = pipeline.insert()
    pipeline.database.execute("SELECT pg_replication_slot_advance(%s, pg_current_wal_lsn())", [pipeline.slot])
    return lost


def confirm_the_future(pipeline: Pipeline) -> str:
    """Any reader may confirm any position: Postgres takes it."""
    lost = pipeline.insert()
    [(lsn,)] = pipeline.database.execute("SELECT pg_current_wal_lsn() + 100000000")
    overconfirm(pipeline, lsn)
    return lost


def overconfirm(pipeline: Pipeline, lsn: str) -> None:
    from cdc_relay.protocol.lsn import parse_lsn
    from cdc_relay.sources.slot import start_stream

    stream = start_stream(
        pipeline.database.dsn(replication="database"),
        slot=pipeline.slot,
        publication=pipeline.publication,
        wal_sender_timeout_seconds=10,
    )
    try:
        position = parse_lsn(lsn)
        stream.send_status(write_lsn=position, flush_lsn=position, reply_requested=True)
        wait_until(lambda: pipeline.confirmed_lsn() >= position, timeout=30, what="Postgres believes it")
    finally:
        stream.close()


def swap_publication(pipeline: Pipeline) -> str:
    """While nobody looks: out of the publication, a row, and back in."""
    name = pipeline.publication
    pipeline.database.execute(f"ALTER PUBLICATION {name} DROP TABLE public.outbox")
    lost = pipeline.insert()
    pipeline.database.execute(f"ALTER PUBLICATION {name} ADD TABLE public.outbox")
    return lost


FAULTS: dict[str, tuple[Callable[[Pipeline], str], str]] = {
    "dropped": (lose, "replication slot {slot} is gone"),
    "recreated": (recreate, "it was advanced, or dropped and made again"),
    "advanced": (advance, "it was advanced, or dropped and made again"),
    "confirmed beyond the WAL": (confirm_the_future, "beyond the end of the server's WAL"),
    "publication changed": (swap_publication, "publication {publication} is not as it was when it was last seen"),
}


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


def has_guard(pipeline: Pipeline) -> bool:
    return bool(pipeline.database.execute("SELECT 1 FROM cdc_relay.guard WHERE slot = %s", [pipeline.slot]))


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


def test_a_database_on_another_server_is_refused_and_its_gap_is_told_by_time(left: Pipeline) -> None:
    """As after a restore from a dump, which brings the guard's row along and another system identifier."""
    left.database.execute("UPDATE cdc_relay.guard SET system_identifier = system_identifier - 1")
    said = last_words(left.start_relay(ready=False))
    assert "this is another server" in said
    assert re.search(r"cdc-relay replay -c FILE --since 2\S+Z; then cdc-relay run -c FILE --accept-gap", said), said
    left.start_relay("--accept-gap")
    wait_until_arrived(left, left.insert())


# --- what is normal


def test_after_a_clean_stop_slot_and_guard_agree(pipeline: Pipeline) -> None:
    relay = pipeline.start_relay()
    wait_until_arrived(pipeline, *(pipeline.insert() for _ in range(5)))
    assert relay.stop() == 0
    assert ceiling(pipeline) == pipeline.confirmed_lsn()


def ceiling(pipeline: Pipeline) -> int:
    [(lsn,)] = pipeline.database.execute("SELECT ceiling - '0/0' FROM cdc_relay.guard WHERE slot = %s", [pipeline.slot])
    return int(lsn)


def test_a_slot_below_its_ceiling_is_normal_and_said(pipeline: Pipeline) -> None:
    """As after a crash, or a restart before Postgres 17."""
    relay = pipeline.start_relay()
    wait_until_arrived(pipeline, pipeline.insert())
    assert relay.stop() == 0
    pipeline.database.execute("UPDATE cdc_relay.guard SET ceiling = ceiling + 1000000")
    relay = pipeline.start_relay()
    assert "some events come twice" in relay.stderr
    wait_until_arrived(pipeline, pipeline.insert())


def test_the_slot_never_passes_the_ceiling_while_the_guard_cannot_be_written(pipeline: Pipeline) -> None:
    relay = pipeline.start_relay()
    pipeline.insert()
    wait_until_confirmed(pipeline, wal_lsn(pipeline))
    with pipeline.database.connect(autocommit=False) as conn:
        conn.execute("LOCK TABLE cdc_relay.guard IN EXCLUSIVE MODE")
        before = ceiling_seen(conn)
        ids = [pipeline.insert() for _ in range(20)]
        wait_until_arrived(pipeline, *ids)
        relay.wait_for_log("guard_trouble", timeout=60)
        assert pipeline.confirmed_lsn() <= before
        conn.rollback()
    wait_until_confirmed(pipeline, wal_lsn(pipeline))
    assert relay.stop() == 0
    assert len(pipeline.records()) == 21


def ceiling_seen(conn: Any) -> int:
    [(lsn,)] = conn.execute("SELECT ceiling - '0/0' FROM cdc_relay.guard")
    return int(lsn)


def test_a_right_that_is_taken_away_is_named_with_its_grant_and_nothing_is_confirmed_until_then(
    pipeline: Pipeline,
) -> None:
    relay = pipeline.start_relay()
    wait_until_arrived(pipeline, pipeline.insert())
    role = relay_role(pipeline)
    pipeline.database.execute(f"REVOKE UPDATE ON cdc_relay.guard FROM {role}")
    wait_until_arrived(pipeline, pipeline.insert())
    relay.wait_for_log("guard_trouble")
    relay.wait_for_log("the guard: ")
    [grants] = set(re.findall(r'"remedy": "(GRANT .*?[^\\])"', relay.stderr))
    for statement in grants.replace('\\"', '"').split(";"):
        pipeline.database.execute(statement)
    wait_until_confirmed(pipeline, wal_lsn(pipeline))


def relay_role(pipeline: Pipeline) -> str:
    [(role,)] = pipeline.database.execute(
        "SELECT usename FROM pg_stat_activity WHERE application_name LIKE %s AND datname = %s LIMIT 1",
        [f"cdc-relay:{pipeline.slot}%", pipeline.database.name],
    )
    return str(role)


@pytest.mark.parametrize("damage", ["DROP TABLE cdc_relay.guard", "REVOKE INSERT ON cdc_relay.gaps FROM {role}"])
def test_a_guard_that_is_missing_or_closed_is_refused_with_its_remedy(pipeline: Pipeline, damage: str) -> None:
    relay = pipeline.start_relay()
    role = relay_role(pipeline)
    assert relay.stop() == 0
    pipeline.database.execute(damage.format(role=role))
    if "DROP" in damage:
        pipeline.database.execute("DELETE FROM cdc_relay.schema_version WHERE version = 5")
    said = last_words(relay.start())
    assert ("cdc-relay setup -c FILE" if "DROP" in damage else "GRANT SELECT, INSERT, UPDATE ON ALL TABLES") in said


def test_a_row_that_is_deleted_under_the_relay_is_begun_again(pipeline: Pipeline) -> None:
    relay = pipeline.start_relay()
    wait_until_arrived(pipeline, pipeline.insert())
    pipeline.database.execute("DELETE FROM cdc_relay.guard")
    wait_until_arrived(pipeline, pipeline.insert())
    wait_until(lambda: has_guard(pipeline), timeout=60, what="the guard has a row again")
    wait_until_confirmed(pipeline, wal_lsn(pipeline))
    assert relay.stop() == 0


def test_a_relay_that_is_idle_does_not_feed_itself_with_its_own_wal(pipeline: Pipeline) -> None:
    """An idle server would write its WAL for the guard alone; the pause is doubled instead (see test_ceiling)."""
    relay = pipeline.start_relay()
    wait_until_arrived(pipeline, pipeline.insert())
    wait_until_confirmed(pipeline, wal_lsn(pipeline))
    assert relay.is_running


__all__ = ["RelayProcess"]
