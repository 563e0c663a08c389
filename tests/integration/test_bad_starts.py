"""Bad starts: what is wrong is refused with exit 3, in words that say what, where and what to do; files with exit 2.

Every configuration here carries a password, and none of the messages may.
"""

from __future__ import annotations

import re
from typing import Any

import psycopg
import pytest

from tests.fixtures.fix_postgres import MakePostgres, PostgresServer
from tests.fixtures.fix_relay import MakePipeline, MakeRelay, Pipeline, RelayProcess, relay_config
from tests.fixtures.process import wait_until
from tests.fixtures.scratch import free_port

pytestmark = pytest.mark.kafka

SECRET = "sesame-4711"
SYNCHRONOUS = [
    pytest.param("*", id="any name", marks=pytest.mark.core),
    pytest.param('"{us}"', id="its name"),
    pytest.param('ANY 1 ("Real", "{us}")', id="a quorum"),
]


def start(pipeline: Pipeline, *arguments: str, dsn: str | None = None, **config: Any) -> RelayProcess:
    """Without waiting for it to get ready; with a password that a trusting server does not ask for."""
    dsn = dsn or pipeline.database.dsn(password=SECRET)
    return pipeline.start_relay(*arguments, ready=False, dsn=dsn, **config)


def last_words(relay: RelayProcess, *, exit_code: int = 3) -> str:
    assert relay.wait(60) == exit_code
    said = relay.stderr
    assert "Traceback" not in said
    assert SECRET not in said + relay.stdout
    return said


def remedy(said: str) -> str:
    """The SQL that the message tells the operator to run."""
    found = re.search(r"what to do: (BEGIN;.*COMMIT;|ALTER [^;\n]+)", said)
    assert found, said
    return found.group(1)


def assert_it_delivers(pipeline: Pipeline) -> None:
    pipeline.start_relay()
    event_id = pipeline.insert()
    [record] = pipeline.wait_for_records(1)
    assert record.headers() == [("id", event_id.encode())]


def wait_until_set(server: PostgresServer, name: str, value: str) -> None:
    """A reload is on its way for a moment."""
    wait_until(lambda: server.execute(f"SHOW {name}") == [(value,)], timeout=30, what=f"{name} is {value}")


# --- the server


@pytest.mark.core
def test_wal_level_replica_is_refused_with_the_setting_to_change(
    make_postgres: MakePostgres, make_relay: MakeRelay
) -> None:
    server = make_postgres(wal_level="replica")
    config = relay_config(server.dsn(password=SECRET), "orders", "orders", "public.outbox", "127.0.0.1:1")
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


# --- the slot


@pytest.mark.core
def test_a_missing_slot_is_refused_and_setup_makes_it(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    pipeline.database.execute("SELECT pg_drop_replication_slot(%s)", [pipeline.slot])
    said = last_words(start(pipeline))
    assert f"there is no replication slot {pipeline.slot}" in said
    assert "what to do: create it: cdc-relay setup -c FILE" in said

    assert make_relay(pipeline.config(), command="setup").wait() == 0
    assert_it_delivers(pipeline)


@pytest.mark.core
def test_a_slot_of_another_plugin_is_refused(pipeline: Pipeline) -> None:
    other = f"{pipeline.slot}_other"
    if pipeline.database.server.version == 15:
        plugin = "test_decoding"
        pipeline.database.execute("SELECT pg_create_logical_replication_slot(%s, 'test_decoding')", [other])
    else:  # the wheels have no second plugin; a physical slot has none at all
        plugin = "none: it is a physical slot"
        pipeline.database.execute("SELECT pg_create_physical_replication_slot(%s)", [other])
    try:
        said = last_words(start(pipeline, source={"slot": other}))
    finally:
        pipeline.database.execute("SELECT pg_drop_replication_slot(%s)", [other])
    assert f"slot {other} has the plugin {plugin}; cdc-relay reads pgoutput" in said
    assert f"what to do: SELECT pg_drop_replication_slot('{other}')" in said


@pytest.mark.core
def test_a_slot_of_another_database_is_refused_with_both_names(make_pipeline: MakePipeline) -> None:
    ours, other = make_pipeline(), make_pipeline()
    said = last_words(start(ours, source={"slot": other.slot}))
    assert f"slot {other.slot} belongs to database {other.database.name}" in said
    assert f"what to do: connect to {other.database.name}" in said


@pytest.mark.core
def test_a_two_phase_slot_is_refused(pipeline: Pipeline) -> None:
    slot = f"{pipeline.slot}_2pc"
    pipeline.database.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput', false, true)", [slot])
    said = last_words(start(pipeline, source={"slot": slot}))
    assert f"slot {slot} was made with two_phase; prepared transactions are not supported" in said
    assert f"what to do: SELECT pg_drop_replication_slot('{slot}')" in said


def test_a_temporary_slot_is_refused(pipeline: Pipeline) -> None:
    slot = f"{pipeline.slot}_temporary"
    with pipeline.database.connect() as owner:
        owner.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput', true)", [slot])
        said = last_words(start(pipeline, source={"slot": slot}))
    assert f"slot {slot} is temporary" in said
    assert "cdc-relay setup -c FILE" in said


@pytest.mark.core
def test_a_lost_slot_is_refused_because_events_are_missing(
    make_postgres: MakePostgres, make_pipeline: MakePipeline
) -> None:
    server = make_postgres(max_slot_wal_keep_size="1MB", min_wal_size="32MB", max_wal_size="32MB")
    pipeline = make_pipeline(server=server)
    lost = "SELECT wal_status FROM pg_replication_slots WHERE slot_name = %s"

    def is_lost() -> bool:
        pipeline.database.execute("SELECT pg_switch_wal() FROM txid_current()")
        pipeline.database.execute("CHECKPOINT")
        return pipeline.database.execute(lost, [pipeline.slot]) == [("lost",)]

    wait_until(is_lost, timeout=60, what="the slot is lost")
    said = last_words(start(pipeline))
    assert f"slot {pipeline.slot} is lost: Postgres removed WAL that it needed" in said
    assert f"what to do: SELECT pg_drop_replication_slot('{pipeline.slot}')" in said


@pytest.mark.core
def test_a_slot_in_use_is_refused_with_no_wait_and_names_its_reader(pipeline: Pipeline) -> None:
    pipeline.start_relay()
    [(pid,)] = pipeline.database.execute(
        "SELECT active_pid FROM pg_replication_slots WHERE slot_name = %s", [pipeline.slot]
    )
    said = last_words(start(pipeline, "--no-wait"))
    assert f"slot {pipeline.slot} is in use" in said
    assert f"what to do: see who reads it: SELECT * FROM pg_stat_replication WHERE pid = {pid}" in said


# --- the publication and its tables


@pytest.mark.core
def test_a_missing_publication_is_refused_and_setup_makes_it(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    pipeline.database.execute(f"DROP PUBLICATION {pipeline.publication}")
    said = last_words(start(pipeline))
    assert f"there is no publication {pipeline.publication}" in said
    assert "what to do: create it: cdc-relay setup -c FILE" in said

    assert make_relay(pipeline.config(), command="setup").wait() == 0
    assert_it_delivers(pipeline)


@pytest.mark.core
def test_a_publication_without_the_table_is_refused_and_the_printed_command_repairs_it(pipeline: Pipeline) -> None:
    pipeline.database.execute(f"ALTER PUBLICATION {pipeline.publication} DROP TABLE public.outbox")
    said = last_words(start(pipeline))
    assert f"publication {pipeline.publication} does not have table public.outbox" in said

    pipeline.database.execute(remedy(said))
    assert_it_delivers(pipeline)


@pytest.mark.core
def test_a_publication_without_inserts_is_refused_and_the_printed_command_repairs_it(pipeline: Pipeline) -> None:
    pipeline.database.execute(f"ALTER PUBLICATION {pipeline.publication} SET (publish = 'update, delete')")
    said = last_words(start(pipeline))
    assert f"publication {pipeline.publication} does not publish inserts" in said

    pipeline.database.execute(remedy(said))
    assert_it_delivers(pipeline)


@pytest.mark.core
def test_a_partitioned_outbox_must_be_published_as_its_root_and_the_printed_command_does_it(
    pipeline: Pipeline,
) -> None:
    execute = pipeline.database.execute
    execute(f"DROP PUBLICATION {pipeline.publication}")
    execute("ALTER TABLE public.outbox RENAME TO plain")
    execute("CREATE TABLE public.outbox (LIKE plain) PARTITION BY HASH (id)")
    execute("CREATE TABLE public.leaf PARTITION OF public.outbox FOR VALUES WITH (MODULUS 1, REMAINDER 0)")
    execute(f"CREATE PUBLICATION {pipeline.publication} FOR TABLE public.outbox WITH (publish = 'insert')")
    said = last_words(start(pipeline))
    assert f"table public.outbox is partitioned, and publication {pipeline.publication} names its partitions" in said

    execute(remedy(said))
    assert_it_delivers(pipeline)


def test_a_mapped_column_that_the_table_lacks_is_refused_with_those_it_has(pipeline: Pipeline) -> None:
    outboxes = [{"table": "public.outbox", "columns": {"payload": "body"}}]
    said = last_words(start(pipeline, outboxes=outboxes))
    assert (
        "table public.outbox has no column body (it has id, aggregatetype, aggregateid, type, payload)\n"
        "  what to do: add the column (a generated one is not published), or map another one under outboxes[].columns"
        in said
    )


@pytest.mark.core
def test_a_mapped_column_that_postgres_does_not_publish_is_refused(pipeline: Pipeline) -> None:
    pipeline.database.execute(
        "ALTER TABLE public.outbox ADD COLUMN body text GENERATED ALWAYS AS (aggregateid || type) STORED"
    )
    outboxes = [{"table": "public.outbox", "columns": {"payload": "body"}}]
    assert "table public.outbox has no column body" in last_words(start(pipeline, outboxes=outboxes))


@pytest.mark.core
def test_a_column_list_that_hides_a_mapped_column_is_refused_and_the_printed_command_repairs_it(
    pipeline: Pipeline,
) -> None:
    columns = "(id, aggregatetype, aggregateid, type)"
    pipeline.database.execute(f"ALTER PUBLICATION {pipeline.publication} SET TABLE public.outbox {columns}")
    said = last_words(start(pipeline))
    assert f"publication {pipeline.publication} leaves out column payload of public.outbox" in said

    pipeline.database.execute(remedy(said))
    assert_it_delivers(pipeline)


def test_a_missing_table_is_refused(pipeline: Pipeline) -> None:
    said = last_words(start(pipeline, outboxes=[{"table": "public.no_such_outbox"}]))
    assert "there is no table public.no_such_outbox" in said
    assert "what to do: create it, or correct outboxes[].table" in said


def test_all_that_is_wrong_is_said_at_once(pipeline: Pipeline) -> None:
    said = last_words(start(pipeline, source={"slot": "no_such_slot", "publication": "no_such_publication"}))
    assert "there is no replication slot no_such_slot" in said
    assert "also: there is no publication no_such_publication" in said


# --- who may connect


@pytest.mark.core
def test_a_role_without_replication_is_refused_and_the_printed_command_repairs_it(pipeline: Pipeline) -> None:
    role = pipeline.database.create_role("LOGIN")
    pipeline.grant_lot(role)
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
    pipeline.grant_lot("relay")
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
    dsn = pipeline.database.server.dsn("no_such_database", password=SECRET)
    said = last_words(start(pipeline, dsn=dsn))
    assert 'database "no_such_database" does not exist' in said
    assert "what to do: correct source.dsn" in said


def test_a_role_that_does_not_exist_is_refused(pipeline: Pipeline) -> None:
    said = last_words(start(pipeline, dsn=pipeline.database.dsn("no_such_role", password=SECRET)))
    assert 'role "no_such_role" does not exist' in said
    assert "what to do: correct source.dsn" in said


# --- what is only away, with --no-wait (test_waiting.py has the waiting)


def test_an_unknown_host_is_named_with_no_wait(pipeline: Pipeline) -> None:
    dsn = pipeline.database.dsn(host="no-such-host.invalid", password=SECRET)
    said = last_words(start(pipeline, "--no-wait", dsn=dsn))
    assert "Postgres is not reachable" in said
    assert "no-such-host.invalid" in said
    assert "what to do: check host, port and network of source.dsn" in said


def test_a_closed_port_of_postgres_is_named_with_no_wait(pipeline: Pipeline) -> None:
    port = free_port()
    said = last_words(start(pipeline, "--no-wait", dsn=pipeline.database.dsn(port=port, password=SECRET)))
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
