"""What a replay refuses, each with what repairs it, applied here as it is printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixtures.fix_relay import MakeRelay, Pipeline
from tests.integration.replay_rig import ids_of, insert_rows, replay, run_rows

pytestmark = pytest.mark.kafka

NUMBERED = "CREATE TABLE public.numbered (id bigint, aggregatetype text, aggregateid text, type text, payload jsonb)"


def remedy_of(stderr: str) -> str:
    return stderr.split("what to do: ", 1)[1].strip().splitlines()[0]


@pytest.mark.core
def test_a_role_that_may_not_read_the_table_gets_the_grant(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    ids = insert_rows(pipeline, 3)
    dsn = pipeline.database.dsn(pipeline.database.create_relay_role())
    refused = replay(make_relay, pipeline, dsn=dsn, code=3)
    pipeline.database.execute(remedy_of(refused.stderr))
    replay(make_relay, pipeline, dsn=dsn)
    assert ids_of(pipeline.wait_for_records(3)) == ids


def test_partitions_need_a_grant_of_their_own(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    database = pipeline.database
    database.execute("DROP TABLE public.outbox")
    database.execute(
        "CREATE TABLE public.outbox (id uuid, aggregatetype text, aggregateid text, type text, payload jsonb)"
        " PARTITION BY HASH (id)"
    )
    database.execute('CREATE SCHEMA "Archive"')
    for number, schema in enumerate(("public", '"Archive"')):
        database.execute(
            f'CREATE TABLE {schema}."Part {number}" PARTITION OF public.outbox'
            f" FOR VALUES WITH (MODULUS 2, REMAINDER {number})"
        )
    ids = insert_rows(pipeline, 10)
    role = pipeline.database.create_relay_role()
    database.execute(f"GRANT SELECT ON public.outbox TO {role}")
    dsn = database.dsn(role)
    database.execute(remedy_of(replay(make_relay, pipeline, dsn=dsn, code=3).stderr))
    replay(make_relay, pipeline, dsn=dsn)
    assert sorted(ids_of(pipeline.wait_for_records(10))) == sorted(ids)


def test_a_role_that_may_not_keep_the_position_gets_the_grant(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    insert_rows(pipeline, 1)
    role = pipeline.database.create_role("LOGIN REPLICATION")
    pipeline.database.execute(f"GRANT SELECT ON public.outbox TO {role}")
    dsn = pipeline.database.dsn(role)
    refused = replay(make_relay, pipeline, dsn=dsn, code=3)
    pipeline.database.execute(remedy_of(refused.stderr))
    replay(make_relay, pipeline, dsn=dsn)


def test_row_security_is_an_error_and_no_gap(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    insert_rows(pipeline, 2)
    role = pipeline.database.create_relay_role()
    pipeline.database.execute(f"GRANT SELECT ON public.outbox TO {role}")
    pipeline.database.execute("ALTER TABLE public.outbox ENABLE ROW LEVEL SECURITY")
    dsn = pipeline.database.dsn(role)
    refused = replay(make_relay, pipeline, dsn=dsn, code=3)
    pipeline.database.execute(remedy_of(refused.stderr).split(":")[0].replace("<the role of source.dsn>", role))
    replay(make_relay, pipeline, dsn=dsn)
    assert len(pipeline.wait_for_records(2)) == 2


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("no_such = 1", 'column "no_such" does not exist'),
        ("aggregateid = ", "syntax error"),
        ("true); DELETE FROM public.outbox; --", "syntax error"),
        ("1 / (length(aggregateid) - 2) = 1", "division by zero"),
        ("set_config('transaction_read_only', 'off', true) = 'off'", "read-write mode"),
    ],
)
def test_a_condition_that_postgres_refuses_is_a_usage_error(
    pipeline: Pipeline, make_relay: MakeRelay, where: str, said: str
) -> None:
    insert_rows(pipeline, 2)
    refused = replay(make_relay, pipeline, "--where", where, code=2)
    assert "--where" in refused.stderr and said in refused.stderr
    assert set(run_rows(pipeline)) <= {("abandoned",)}
    assert pipeline.database.execute("SELECT count(*) FROM public.outbox") == [(2,)]


def test_an_id_that_is_not_of_its_type_is_a_usage_error(
    pipeline: Pipeline, make_relay: MakeRelay, tmp_path: Path
) -> None:
    file = tmp_path / "ids.txt"
    file.write_text("what?\n")
    assert "--ids: public.outbox: invalid input syntax for type uuid" in (
        replay(make_relay, pipeline, "--ids", str(file), code=2).stderr
    )


def test_ids_that_do_not_fit_the_second_table_are_said_before_the_first_is_published(
    pipeline: Pipeline, make_relay: MakeRelay, tmp_path: Path
) -> None:
    ids = insert_rows(pipeline, 2)
    pipeline.database.execute(NUMBERED)
    file = tmp_path / "ids.txt"
    file.write_text("\n".join(ids))
    both = [{"table": "public.outbox"}, {"table": "public.numbered"}]
    refused = replay(make_relay, pipeline, "--ids", str(file), outboxes=both, code=2)
    assert "--ids: public.numbered: invalid input syntax for type bigint" in refused.stderr
    assert (pipeline.records(), run_rows(pipeline)) == ([], [])
    assert "--outbox names one table" in remedy_of(refused.stderr)
    replay(make_relay, pipeline, "--ids", str(file), "--outbox", "public.outbox", outboxes=both)
    assert ids_of(pipeline.wait_for_records(2)) == ids


def test_without_a_time_column_since_tells_how_to_name_one(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    refused = replay(make_relay, pipeline, "--since", "2h", code=2)
    assert "outboxes[].columns.timestamp" in refused.stderr and "--where" in refused.stderr


def test_messages_are_skipped_and_alone_refused(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    ids = insert_rows(pipeline, 1)
    both = [{"table": "public.outbox"}, {"message_prefix": "outbox"}]
    skipped = replay(make_relay, pipeline, outboxes=both)
    assert "messages are in the WAL only" in skipped.stderr
    assert ids_of(pipeline.wait_for_records(1)) == ids
    assert "no table to replay" in replay(make_relay, pipeline, outboxes=both[1:], code=2).stderr


def test_without_a_terminal_it_must_be_meant(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    insert_rows(pipeline, 1)
    process = make_relay(pipeline.as_owner(), command="replay")
    assert process.wait() == 2
    assert "not in order with what a running relay" in process.stderr and "--yes" in process.stderr
    assert run_rows(pipeline) == []


def test_a_schema_of_before_is_named(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    pipeline.database.execute("DROP TABLE cdc_relay.replays; DELETE FROM cdc_relay.schema_version WHERE version = 6")
    assert remedy_of(replay(make_relay, pipeline, code=3).stderr) == "make it: cdc-relay setup -c FILE"
    setup = make_relay(pipeline.as_owner(), command="setup")
    assert setup.wait() == 0
    said = replay(make_relay, pipeline, code=3).stderr  # a table made anew has lost its grants
    assert remedy_of(said).startswith("GRANT USAGE ON SCHEMA cdc_relay TO ")
    pipeline.database.execute(remedy_of(said))
    replay(make_relay, pipeline)
