"""Retention beside a running relay, and the command: it never costs an event, and says what it did."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cdc_relay.admin.retention.months import Month, leaf_name
from tests.fixtures.fix_kafka import KafkaBroker
from tests.fixtures.fix_postgres import Database
from tests.fixtures.fix_proxy import TcpProxy
from tests.fixtures.fix_relay import MakePipeline, MakeRelay, Pipeline, RelayProcess
from tests.fixtures.process import wait_until
from tests.fixtures.scratch import free_port
from tests.integration.promise_rig import cut, event_ids, open_records, run_cut_off
from tests.integration.retention_rig import Ground

OLD = "INSERT INTO outbox VALUES (gen_random_uuid(), %s, 'k', 'T', '{}', now() - interval '10 days') RETURNING id::text"
THIS = Month.of(datetime.now(UTC))


@pytest.fixture(scope="module")
def cut_off() -> Iterator[tuple[KafkaBroker, TcpProxy]]:
    yield from run_cut_off()


# --- the promise


@pytest.mark.kafka
@pytest.mark.real_kafka
def test_an_unconfirmed_row_is_never_removed(
    make_pipeline: MakePipeline, cut_off: tuple[KafkaBroker, TcpProxy]
) -> None:
    """However old it says it is: while the broker is away it stays; once it is delivered it goes."""
    broker, proxy = cut_off
    pipeline = make_pipeline(kafka=broker)
    pipeline.database.execute("ALTER TABLE outbox ADD created_at timestamptz NOT NULL DEFAULT now()")
    pipeline.database.execute(f"GRANT SELECT, DELETE ON outbox TO {pipeline.role}")
    relay = pipeline.start_relay(bootstrap=proxy.address, retention={"outbox": "7d", "every": "1s"})
    first = insert_old(pipeline)
    wait_until(lambda: first not in rows_amid_bustle(pipeline), timeout=90, every=1, what="a delivered row goes")
    cut(proxy)
    try:
        held = {insert_old(pipeline) for _ in range(3)}
        wait_until(lambda: open_records(relay) >= 3, timeout=30, what="three records are in flight")
        assert command(relay.config_file).returncode == 0
        assert held <= rows(pipeline)
    finally:
        proxy.accept()
    wait_until(lambda: held <= set(event_ids(pipeline)), timeout=60, what="they are published")
    wait_until(lambda: not held & rows_amid_bustle(pipeline), timeout=90, every=1, what="they go")
    assert sum(line["removed"] for line in said(relay, "retention")) == 4


def insert_old(pipeline: Pipeline) -> str:
    [(event_id,)] = pipeline.database.execute(OLD, [pipeline.aggregate_type])
    return str(event_id)


def rows(pipeline: Pipeline) -> set[str]:
    return {str(event_id) for (event_id,) in pipeline.database.execute("SELECT id::text FROM outbox")}


def rows_amid_bustle(pipeline: Pipeline) -> set[str]:
    """The guard's mark moves while events flow, and rarely in a quiet database."""
    pipeline.insert()
    return rows(pipeline)


def said(relay: RelayProcess, event: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in relay.stderr.splitlines() if line.startswith("{")]
    return [line for line in lines if line["event"] == event]


def command(file: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "cdc_relay", "retention", "-c", str(file), *arguments]
    return subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)


# --- beside the stream, without Kafka


@pytest.fixture
def ground(database: Database, tmp_path: Path) -> Ground:
    """Partitioned by month, with an old month of two rows."""
    ground = Ground(database, tmp_path)
    ground.retention = {"outbox": "40d", "partitions": True, "every": "1s"}
    ground.create_outbox(by="PARTITION BY RANGE (created_at)")
    database.execute(
        "CREATE TABLE long_ago PARTITION OF outbox FOR VALUES FROM ('2020-02-01 +00') TO ('2020-03-01 +00')"
    )
    database.execute("INSERT INTO outbox (created_at) SELECT '2020-02-02' FROM generate_series(1, 2)")
    ground.set_up()
    return ground


def start(ground: Ground, make_relay: MakeRelay) -> RelayProcess:
    return make_relay(ground.config(http={"listen": f"127.0.0.1:{free_port()}"})).wait_ready()


@pytest.mark.core
def test_months_that_come_and_go_under_a_running_relay_are_harmless(ground: Ground, make_relay: MakeRelay) -> None:
    """The publication watch looks again behind the change, and rows of the new month are published."""
    ground.be_owner()
    relay = start(ground, make_relay)
    relay.wait_for_log('"event": "retention"')
    [done] = said(relay, "retention")
    made = [f"public.{leaf_name('outbox', month)}" for month in (THIS, THIS.next, THIS.next.next)]
    assert (done["table"], done["removed"], done["made"], done["dropped"]) == (
        "public.outbox",
        2,
        made,
        ["public.long_ago"],
    )
    ground.insert(days_ago=0)
    [(lsn,)] = ground.database.execute("SELECT pg_current_wal_lsn()")
    wait_until(lambda: was_seen(ground, lsn), timeout=90, every=1, what="the publication was looked at again")
    assert relay.is_running
    assert "changed while" not in relay.stderr
    assert json.loads(relay.get("/readyz")[1])["published_records"] >= 1


def was_seen(ground: Ground, lsn: str) -> bool:
    ground.insert(days_ago=0)
    [(is_behind,)] = ground.database.execute("SELECT seen_lsn > %s::pg_lsn FROM cdc_relay.guard", [lsn])
    return bool(is_behind)


def test_trouble_is_said_once_and_stops_nothing(ground: Ground, make_relay: MakeRelay) -> None:
    role = ground.database.create_relay_role()
    ground.dsn = ground.database.dsn(role)
    relay = start(ground, make_relay)
    relay.wait_for_log('"event": "retention_trouble"')
    ground.database.execute(f"GRANT postgres TO {role}")
    relay.wait_for_log('"event": "retention"')
    [trouble] = said(relay, "retention_trouble")
    assert (trouble["table"], "GRANT postgres TO" in trouble["remedy"]) == ("public.outbox", True)
    assert relay.stop() == 0


def test_a_standby_relay_removes_nothing_until_it_takes_over(
    database: Database, tmp_path: Path, make_relay: MakeRelay
) -> None:
    ground = Ground(database, tmp_path)
    ground.create_outbox()
    ground.insert(3)
    ground.set_up()
    ground.be_owner()
    ground.retention = {"lot": "off"}
    reader = start(ground, make_relay)
    ground.retention = {"outbox": "7d", "every": "1s"}
    standby = start(ground, make_relay)
    standby.wait_for_log('"state": "standby"')
    [(now,)] = database.execute("SELECT now()")
    wait_until(lambda: has_confirmed_since(ground, now), timeout=60, every=0.5, what="time enough for passes is over")
    assert ground.keys()["old"] == 3
    assert reader.stop() == 0
    standby.wait_for_log('"event": "retention"')
    assert ground.keys().get("old", 0) == 0


def has_confirmed_since(ground: Ground, moment: datetime) -> bool:
    ground.insert(days_ago=0, key="new")
    [(is_later,)] = ground.database.execute("SELECT raised_at > %s + interval '3 s' FROM cdc_relay.guard", [moment])
    return bool(is_later)


# --- the command


def test_the_command_shows_does_and_says_with_its_exit_code(ground: Ground) -> None:
    file = ground.write()
    seen = command(file, "--dry-run")
    assert seen.returncode == 0
    assert seen.stdout.splitlines()[0] == "cdc_relay.parked_records: nothing to do"
    assert "2 rows would be removed; partitions would be made: public.outbox_" in seen.stdout
    assert "partitions would be dropped: public.long_ago" in seen.stdout
    done = command(file)
    assert (done.returncode, "partitions dropped: public.long_ago" in done.stdout) == (0, True)
    ground.database.execute("DELETE FROM cdc_relay.guard")
    held = command(file)
    assert held.returncode == 3
    assert "trouble: the guard has no row of this slot" in held.stdout
    assert "Traceback" not in held.stderr
