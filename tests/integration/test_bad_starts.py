"""Bad starts: what is wrong is refused with exit 3, in words that say what, where and what to do; files with exit 2.

Every configuration here carries a password, and none of the messages may."""

from __future__ import annotations

import psycopg
import pytest

from tests.fixtures.fix_postgres import MakePostgres, PostgresServer
from tests.fixtures.fix_relay import MakePipeline, MakeRelay, Pipeline, relay_config
from tests.fixtures.process import wait_until
from tests.fixtures.scratch import free_port
from tests.integration.bad_start_rig import SECRET, assert_it_delivers, last_words, start

pytestmark = pytest.mark.kafka

SYNCHRONOUS = [
    pytest.param("*", id="any name", marks=pytest.mark.core),
    pytest.param('"{us}"', id="its name"),
    pytest.param('ANY 1 ("Real", "{us}")', id="a quorum"),
]


def wait_until_set(server: PostgresServer, name: str, value: str) -> None:
    """A reload is on its way for a moment."""
    wait_until(lambda: server.execute(f"SHOW {name}") == [(value,)], timeout=30, what=f"{name} is {value}")


# --- the server


@pytest.mark.core
def test_wal_level_replica_is_refused_with_the_setting_to_change(
    make_postgres: MakePostgres, make_relay: MakeRelay
) -> None:
    server = make_postgres(wal_level="replica")
    server.execute("CREATE ROLE relay LOGIN REPLICATION")
    config = relay_config(server.dsn(user="relay", password=SECRET), "orders", "orders", "public.outbox", "127.0.0.1:1")
    said = last_words(make_relay(config))
    assert "wal_level is replica" in said
    assert "ALTER SYSTEM SET wal_level = 'logical'; then restart Postgres" in said


@pytest.mark.parametrize("setting", SYNCHRONOUS)
def test_being_a_synchronous_standby_is_refused_until_the_setting_excludes_us(
    make_postgres: MakePostgres, make_pipeline: MakePipeline, setting: str
) -> None:
    server = make_postgres(synchronous_commit="local")  # or the test's own commits would wait
    pipeline = make_pipeline(server=server)
    setting = setting.format(us=f"cdc-relay:{pipeline.slot}")
    server.configure(synchronous_standby_names=setting)
    wait_until_set(server, "synchronous_standby_names", setting)
    said = last_words(start(pipeline))
    assert f"synchronous_standby_names ({setting}) makes cdc-relay:{pipeline.slot} a synchronous standby" in said
    assert "what to do: name your real standbys in synchronous_standby_names" in said

    server.configure(synchronous_standby_names="Real")
    wait_until_set(server, "synchronous_standby_names", "Real")
    assert_it_delivers(pipeline)


def test_becoming_a_synchronous_standby_while_streaming_ends_the_relay(
    make_postgres: MakePostgres, make_pipeline: MakePipeline
) -> None:
    server = make_postgres(synchronous_commit="local")
    pipeline = make_pipeline(server=server)
    relay = start(pipeline).wait_ready()
    pipeline.insert()  # a reader that has confirmed nothing counts as asynchronous whatever the setting
    pipeline.wait_for_records(1)
    server.configure(synchronous_standby_names="*")
    said = last_words(relay)
    assert f"makes cdc-relay:{pipeline.slot} a synchronous standby" in said
    assert "what to do: name your real standbys in synchronous_standby_names" in said


# --- who may connect


@pytest.mark.core
def test_a_role_without_replication_is_refused_and_the_printed_command_repairs_it(pipeline: Pipeline) -> None:
    role = pipeline.database.create_role("LOGIN")
    pipeline.database.grant_schema(role)
    dsn = pipeline.database.dsn(role, password=SECRET)
    said = last_words(start(pipeline, dsn=dsn))
    assert "Postgres refused the connection" in said
    assert "what to do: let the role replicate: ALTER ROLE <the role of source.dsn> REPLICATION" in said

    pipeline.database.execute(f"ALTER ROLE {role} REPLICATION")
    start(pipeline, dsn=dsn).wait_ready()


@pytest.fixture
def guarded(make_postgres: MakePostgres, make_pipeline: MakePipeline) -> Pipeline:
    """On a server that asks every role but the superuser for a password; the role `relay` has SECRET."""
    server = make_postgres()
    pipeline = make_pipeline(server=server)
    server.execute(f"CREATE ROLE relay LOGIN REPLICATION PASSWORD '{SECRET}'")
    pipeline.database.grant_schema("relay")
    rules = "host all postgres all trust\nhost all all all scram-sha-256\n"
    (server.data_dir / "pg_hba.conf").write_text(rules)
    server.configure()

    def asks_for_a_password() -> bool:
        try:
            pipeline.database.connect("relay").close()
        except psycopg.OperationalError:
            return True
        return False

    wait_until(asks_for_a_password, timeout=30, what="the server asks for a password")
    return pipeline


@pytest.mark.core
def test_the_right_password_is_accepted_and_a_wrong_one_refused(guarded: Pipeline) -> None:
    dsn = guarded.database.dsn("relay")
    start(guarded, dsn=dsn, source={"password": SECRET}).wait_ready().stop()

    wrong = f"{SECRET}-wrong"
    said = last_words(start(guarded, dsn=dsn, source={"password": wrong}))
    assert 'password authentication failed for user "relay"' in said
    assert "what to do: correct the password: source.password, PGPASSWORD, or a passfile" in said


@pytest.mark.core
def test_a_password_that_nobody_gave_is_refused(guarded: Pipeline) -> None:
    said = last_words(start(guarded, dsn=guarded.database.dsn("relay")))
    assert "no password supplied" in said
    assert "what to do: correct the password: source.password, PGPASSWORD, or a passfile" in said


def test_a_database_that_does_not_exist_is_refused(pipeline: Pipeline) -> None:
    dsn = pipeline.database.server.dsn("no_such_database", pipeline.role, password=SECRET)
    said = last_words(start(pipeline, dsn=dsn))
    assert 'database "no_such_database" does not exist' in said
    assert "what to do: correct source.dsn" in said


def test_a_role_that_does_not_exist_is_refused(pipeline: Pipeline) -> None:
    said = last_words(start(pipeline, dsn=pipeline.database.dsn("no_such_role", password=SECRET)))
    assert 'role "no_such_role" does not exist' in said
    assert "what to do: correct source.dsn" in said


# --- what is only away, with --no-wait (test_waiting.py has the waiting)


def test_an_unknown_host_is_named_with_no_wait(pipeline: Pipeline) -> None:
    dsn = pipeline.dsn(host="no-such-host.invalid", password=SECRET)
    said = last_words(start(pipeline, "--no-wait", dsn=dsn))
    assert "Postgres is not reachable" in said
    assert "no-such-host.invalid" in said
    assert "what to do: check host, port and network of source.dsn" in said


def test_a_closed_port_of_postgres_is_named_with_no_wait(pipeline: Pipeline) -> None:
    port = free_port()
    said = last_words(start(pipeline, "--no-wait", dsn=pipeline.dsn(port=port, password=SECRET)))
    assert "Postgres is not reachable" in said
    assert f"port {port} failed: Connection refused" in said
    assert "what to do: check host, port and network of source.dsn" in said


def test_an_unreachable_broker_is_named_with_its_cause_with_no_wait(pipeline: Pipeline) -> None:
    port = free_port()
    said = last_words(start(pipeline, "--no-wait", bootstrap=f"127.0.0.1:{port}"))
    assert "Kafka does not answer" in said
    assert f"127.0.0.1:{port}" in said
    assert "Connection refused" in said
    assert "what to do: check sink.kafka bootstrap.servers" in said


def test_no_wait_is_about_the_start_only(pipeline: Pipeline) -> None:
    relay = start(pipeline, "--no-wait").wait_ready()
    pipeline.database.terminate_walsenders()
    pipeline.insert()
    pipeline.wait_for_records(1)
    assert relay.is_running


# --- the file


def test_a_property_that_librdkafka_does_not_know_is_a_configuration_error(pipeline: Pipeline) -> None:
    said = last_words(start(pipeline, sink={"kafka": {"no.such.property": "1"}}), exit_code=2)
    assert "sink.kafka" in said
    assert "no.such.property" in said
    assert "what to do: the names and values are librdkafka's own" in said


def test_a_value_that_librdkafka_refuses_is_a_configuration_error(pipeline: Pipeline) -> None:
    properties = {"compression.type": "cardboard", "sasl.password": SECRET}
    said = last_words(start(pipeline, sink={"kafka": properties}), exit_code=2)
    assert "sink.kafka" in said
    assert 'Invalid value "cardboard"' in said


def test_a_misspelt_key_is_a_configuration_error_with_file_line_and_nearest_name(pipeline: Pipeline) -> None:
    relay = start(pipeline, source={"publicatoin": "orders"})
    said = last_words(relay, exit_code=2)
    assert f"{relay.config_file}:" in said
    assert "publicatoin" in said
    assert "did you mean 'publication'?" in said


def test_a_weaker_producer_is_a_configuration_error(pipeline: Pipeline) -> None:
    said = last_words(start(pipeline, sink={"kafka": {"acks": 1}}), exit_code=2)
    assert "sink.kafka.acks" in said
    assert "owned by the relay" in said
