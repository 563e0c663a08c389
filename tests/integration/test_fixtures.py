"""The test ground itself: servers start, survive what tests do to them, and never outlive the run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from confluent_kafka import Message, Producer

from tests.fixtures.consume import read_topic, wait_for_records
from tests.fixtures.fix_kafka import Kafka, MakeKafka, MockKafka
from tests.fixtures.fix_postgres import Database, MakePostgres, PostgresServer
from tests.fixtures.fix_proxy import MakeProxiedKafka
from tests.fixtures.fix_relay import Pipeline
from tests.fixtures.kafka_jars import find_jars
from tests.fixtures.process import is_running, wait_until

ROOT = Path(__file__).parents[2]


@pytest.mark.core
def test_postgres_is_the_version_asked_for_with_logical_wal(
    postgres: PostgresServer, pytestconfig: pytest.Config
) -> None:
    [(version,)] = postgres.execute("SHOW server_version_num")
    assert int(version) // 10000 == postgres.version == pytestconfig.getoption("--pg")
    assert postgres.execute("SHOW wal_level") == [("logical",)]


@pytest.mark.core
def test_a_database_takes_its_slots_and_roles_with_it(postgres: PostgresServer) -> None:
    database = Database(postgres)
    role = database.create_role("LOGIN REPLICATION")
    database.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [f"{database.name}_slot"])

    database.drop()

    assert database.slot_names() == []
    assert postgres.execute("SELECT 1 FROM pg_database WHERE datname = %s", [database.name]) == []
    assert postgres.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]) == []


@pytest.mark.core
@pytest.mark.kafka
@pytest.mark.parametrize("statement", ["SELECT FROM outbox", "DELETE FROM cdc_relay.gaps"])
def test_the_relay_under_test_may_do_no_more_than_the_documented_role(pipeline: Pipeline, statement: str) -> None:
    assert f"user={pipeline.role}" in pipeline.config()["source"]["dsn"]
    with pipeline.database.connect(pipeline.role) as conn, pytest.raises(psycopg.errors.InsufficientPrivilege):
        conn.execute(statement)


def test_postgres_keeps_data_and_port_over_restart_and_power_loss(make_postgres: MakePostgres) -> None:
    server = make_postgres(fsync=True)
    server.execute("CREATE TABLE kept (n int)")
    server.execute("INSERT INTO kept VALUES (1)")

    server.restart()
    server.execute("INSERT INTO kept VALUES (2)")
    server.kill()
    with pytest.raises(psycopg.OperationalError):
        server.connect()
    server.start()

    assert server.execute("SELECT n FROM kept ORDER BY n") == [(1,), (2,)]


@pytest.mark.core
def test_postgres_takes_settings_at_start_and_on_reload(make_postgres: MakePostgres) -> None:
    server = make_postgres(wal_level="replica")
    assert server.execute("SHOW wal_level") == [("replica",)]

    server.configure(wal_level="logical")
    server.restart()

    assert server.execute("SHOW wal_level") == [("logical",)]


@pytest.mark.kafka
def test_a_record_goes_round_through_kafka(kafka: Kafka, topic: str) -> None:
    produce(kafka, topic, b"there and back")

    assert values(wait_for_records(kafka.bootstrap, topic, 1)) == [b"there and back"]
    assert topic in kafka.topics()


@pytest.mark.real_kafka
def test_a_broker_keeps_data_and_port_over_restart_and_kill(make_kafka: MakeKafka, topic: str) -> None:
    broker = make_kafka()
    bootstrap = broker.bootstrap
    broker.create_topic(topic, partitions=1, config={"max.message.bytes": "2000000"})
    produce(broker, topic, b"before the restart")
    broker.restart()
    produce(broker, topic, b"before the kill")

    broker.kill()
    broker.start()

    assert broker.bootstrap == bootstrap
    assert values(read_topic(bootstrap, topic)) == [b"before the restart", b"before the kill"]


@pytest.mark.real_kafka
def test_a_frozen_broker_answers_again_when_thawed(make_kafka: MakeKafka, topic: str) -> None:
    broker = make_kafka()
    broker.create_topic(topic)
    broker.freeze()
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    producer.produce(topic, b"sent to a frozen broker")
    assert producer.flush(1) == 1

    broker.thaw()

    assert producer.flush(60) == 0
    assert values(read_topic(broker.bootstrap, topic)) == [b"sent to a frozen broker"]


def test_the_mock_cluster_carries_records_where_there_is_no_java(topic: str) -> None:
    mock = MockKafka()
    mock.create_topic(topic)
    produce(mock, topic, b"in memory")
    assert values(wait_for_records(mock.bootstrap, topic, 1)) == [b"in memory"]


def test_without_java_the_reason_is_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_jars.__wrapped__() == "no java on this machine"


@pytest.mark.real_kafka
def test_clients_of_a_proxied_broker_stay_on_the_proxy(make_proxied_kafka: MakeProxiedKafka, topic: str) -> None:
    broker, proxy = make_proxied_kafka()
    broker.create_topic(topic)
    producer = Producer({"bootstrap.servers": proxy.address, "log_level": 0})
    producer.produce(topic, b"through")
    assert producer.flush(60) == 0
    proxy.stall("to_server")
    producer.produce(topic, b"held")
    assert producer.flush(1) == 1
    assert values(read_topic(broker.bootstrap, topic)) == [b"through"]

    proxy.resume()

    assert producer.flush(60) == 0


def test_children_die_with_a_run_that_is_killed(tmp_path: Path) -> None:
    script = (
        "import pathlib, sys, threading, time; from tests.fixtures.process import spawn\n"
        "def start():\n"
        "    print(spawn(['sleep', '600'], log=pathlib.Path(sys.argv[1])).pid, flush=True)\n"
        "thread = threading.Thread(target=start); thread.start(); thread.join()\n"
        "time.sleep(600)"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "log")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        child = int(run.stdout.readline())
        assert is_running(child)  # also after the thread that asked for it has ended

        run.kill()

    wait_until(lambda: not is_running(child), timeout=10, what="the orphan is gone")


def test_sigterm_ends_a_run_with_its_teardowns(tmp_path: Path) -> None:
    (tmp_path / "test_long.py").write_text(
        "import pathlib, time, pytest\n"
        "@pytest.fixture\n"
        "def server():\n"
        "    pathlib.Path('started').touch()\n"
        "    yield\n"
        "    pathlib.Path('stopped').touch()\n"
        "def test_long(server):\n"
        "    time.sleep(600)\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.fixtures.process", "test_long.py"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=tmp_path, env=env, stdout=subprocess.DEVNULL) as run:
        wait_until((tmp_path / "started").exists, timeout=60, what="the inner test runs")
        run.terminate()
        assert run.wait(60) == 128 + signal.SIGTERM
    assert (tmp_path / "stopped").exists()


def produce(kafka: Kafka, topic: str, value: bytes) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "acks": "all", "log_level": 0})
    producer.produce(topic, value)
    assert producer.flush(60) == 0


def values(messages: list[Message]) -> list[bytes | None]:
    return [message.value() for message in messages]
