"""`cdc-relay check` and Postgres: each fault is planted, named, and gone after its printed fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixtures.fix_postgres import MakePostgres
from tests.fixtures.fix_relay import MakePipeline, Pipeline
from tests.fixtures.process import wait_until
from tests.fixtures.scratch import free_port
from tests.integration.check_rig import Check

pytestmark = pytest.mark.kafka


@pytest.fixture
def check(pipeline: Pipeline, tmp_path: Path) -> Check:
    """With the sink `none`: Kafka has tests of its own."""
    return Check.without_kafka(pipeline, tmp_path)


@pytest.mark.core
def test_a_good_server_has_nothing_that_fails_and_the_least_role_is_enough(pipeline: Pipeline, tmp_path: Path) -> None:
    check = Check.without_kafka(pipeline, tmp_path)
    done = check.run()
    assert done.returncode == 0, done.stdout
    assert {each["name"] for each in check.findings() if each["level"] != "ok"} <= {"postgres.max_slot_wal_keep_size"}
    assert "kafka" not in done.stdout
    assert done.stdout.splitlines()[-1].endswith("0 failed: the relay can start")


def test_wal_level_is_repaired_as_printed(
    make_postgres: MakePostgres, make_pipeline: MakePipeline, tmp_path: Path
) -> None:
    server = make_postgres()
    check = Check.without_kafka(make_pipeline(server=server), tmp_path)
    server.execute("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots")
    del server.settings["wal_level"]  # whose default is replica
    server.restart()
    check.repair("postgres.wal_level", "fail")
    check.repair("postgres.slot", "fail")


def test_an_unlimited_slot_and_one_with_a_tiny_limit_are_warned_of(
    make_postgres: MakePostgres, make_pipeline: MakePipeline, tmp_path: Path
) -> None:
    server = make_postgres()
    check = Check.without_kafka(make_pipeline(server=server), tmp_path)
    assert "no limit" in check.repair("postgres.max_slot_wal_keep_size", "warn")["found"]
    server.execute("ALTER SYSTEM SET max_slot_wal_keep_size = '64MB'")
    server.execute("SELECT pg_reload_conf()")
    wait_until(lambda: not check.is_fine("postgres.max_slot_wal_keep_size"), timeout=30, what="the limit is loaded")
    assert "only 64 MiB" in check.repair("postgres.max_slot_wal_keep_size", "warn")["found"]


def test_an_idle_timeout_of_slots_is_warned_of(
    make_postgres: MakePostgres, make_pipeline: MakePipeline, tmp_path: Path
) -> None:
    server = make_postgres()
    check = Check.without_kafka(make_pipeline(server=server), tmp_path)
    if server.version < 18:
        assert check.of("postgres.idle_replication_slot_timeout") == []
        return
    server.execute("ALTER SYSTEM SET idle_replication_slot_timeout = '2h'")
    server.execute("SELECT pg_reload_conf()")
    wait_until(lambda: not check.is_fine("postgres.idle_replication_slot_timeout"), timeout=30, what="it is loaded")
    assert "2 h" in check.repair("postgres.idle_replication_slot_timeout", "warn")["found"]


def test_a_long_wal_sender_timeout_of_the_relay_is_warned_of(check: Check) -> None:
    check.config["source"]["wal_sender_timeout"] = "30m"
    check.repair("postgres.wal_sender_timeout", "warn")


def test_too_few_slots_for_setup_fail(make_postgres: MakePostgres, make_pipeline: MakePipeline, tmp_path: Path) -> None:
    server = make_postgres(max_replication_slots=1)
    pipeline = make_pipeline(server=server)
    check = Check.without_kafka(pipeline, tmp_path)
    assert check.is_fine("postgres.replication_slots")  # its own is there
    server.execute("SELECT pg_drop_replication_slot(%s)", [pipeline.slot])
    server.execute("SELECT pg_create_physical_replication_slot('other')")
    check.repair("postgres.replication_slots", "fail")
    check.repair("postgres.slot", "fail")


def test_too_few_wal_senders_fail(make_postgres: MakePostgres, make_pipeline: MakePipeline, tmp_path: Path) -> None:
    server = make_postgres(max_wal_senders=1)
    check = Check.without_kafka(make_pipeline(server=server), tmp_path)
    with server.connect(replication="database"):
        wait_until(lambda: not check.is_fine("postgres.wal_senders"), timeout=30, what="the sender is seen")
        assert "1 of 1 run" in check.bad("postgres.wal_senders", "fail")["found"]
    wait_until(lambda: check.is_fine("postgres.wal_senders"), timeout=30, what="the sender is gone")
    with server.connect(replication="database"):
        check.repair("postgres.wal_senders", "fail")


@pytest.mark.core
def test_a_role_without_replication_is_found_by_trying(pipeline: Pipeline, tmp_path: Path) -> None:
    role = pipeline.database.create_role("LOGIN")
    pipeline.database.grant_schema(role)
    check = Check.without_kafka(pipeline, tmp_path, dsn=pipeline.database.dsn(role))
    check.repair("postgres.replication", "fail")


def test_a_synchronous_standby_setting_that_takes_us_fails(
    make_postgres: MakePostgres, make_pipeline: MakePipeline, tmp_path: Path
) -> None:
    server = make_postgres()
    check = Check.without_kafka(make_pipeline(server=server), tmp_path)
    with server.connect(options="-c synchronous_commit=local") as conn:
        conn.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
        conn.execute("SELECT pg_reload_conf()")
        wait_until(lambda: not check.is_fine("postgres.synchronous_standby_names"), timeout=30, what="it is loaded")
        assert "(*)" in check.bad("postgres.synchronous_standby_names", "fail")["found"]
        conn.execute("ALTER SYSTEM RESET synchronous_standby_names")
        conn.execute("SELECT pg_reload_conf()")
    wait_until(lambda: check.is_fine("postgres.synchronous_standby_names"), timeout=30, what="it is loaded")


def test_a_read_only_role_fails(pipeline: Pipeline, tmp_path: Path) -> None:
    check = Check.without_kafka(pipeline, tmp_path)
    pipeline.database.execute(f"ALTER ROLE {pipeline.role} SET default_transaction_read_only = on")
    check.repair("postgres.primary", "fail")


def test_postgres_away_is_one_failure_with_its_cause_and_kafka_is_looked_at(pipeline: Pipeline, tmp_path: Path) -> None:
    check = Check(pipeline.config(dsn=f"host=127.0.0.1 port={free_port()} dbname=none user=nobody"), tmp_path)
    assert "Connection refused" in check.bad("postgres.reachable", "fail")["found"]
    assert [each["name"] for each in check.findings() if each["level"] == "fail"] == ["postgres.reachable"]
    assert check.is_fine("kafka.reachable")
    assert check.of("kafka.reachable")


def test_a_wrong_password_is_said_as_such(
    make_postgres: MakePostgres, make_pipeline: MakePipeline, tmp_path: Path
) -> None:
    server = make_postgres()
    server.execute("CREATE ROLE relay LOGIN REPLICATION PASSWORD 'right'")
    pipeline = make_pipeline(server=server)
    (server.data_dir / "pg_hba.conf").write_text(
        "host all postgres 127.0.0.1/32 trust\nhost all relay 127.0.0.1/32 scram-sha-256\n"
    )
    server.configure()
    wait_until(lambda: server.execute("SELECT count(*) FROM pg_hba_file_rules") == [(2,)], timeout=30, what="loaded")
    check = Check.without_kafka(pipeline, tmp_path, dsn=pipeline.database.dsn("relay", password="guessed-4711"))
    assert "password authentication failed" in check.bad("postgres.reachable", "fail")["found"]
    done = check.run()
    assert "guessed-4711" not in done.stdout + done.stderr


def test_a_broken_file_is_exit_code_2(tmp_path: Path) -> None:
    done = Check({"source": {}}, tmp_path).run()
    assert (done.returncode, done.stdout) == (2, "")
