"""Bad starts: a publication or a table that would lose rows, and the printed command that repairs it."""

from __future__ import annotations

import re

import pytest

from tests.fixtures.fix_relay import MakeRelay, Pipeline
from tests.integration.bad_start_rig import assert_it_delivers, last_words, remedy, start

pytestmark = pytest.mark.kafka


@pytest.mark.core
def test_a_missing_publication_is_refused_and_setup_makes_it(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    pipeline.database.execute(f"DROP PUBLICATION {pipeline.publication}")
    said = last_words(start(pipeline))
    assert f"there is no publication {pipeline.publication}" in said
    assert "what to do: create it: cdc-relay setup -c FILE" in said

    assert make_relay(pipeline.as_owner(), command="setup").wait() == 0
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
        "  what to do: add the column (a generated one is not published), or name another one here: " in said
    )
    assert re.search(r"relay\.yaml:\d+: outboxes\[0\]\.columns\.payload", said)


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
