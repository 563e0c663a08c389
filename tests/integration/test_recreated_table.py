"""An outbox that is dropped and created again (promise 12): refused with a remedy, and the remedy brings all back.

Each test does what the message says, word by word, and nothing else.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.fixtures.fix_relay import Pipeline, RelayProcess
from tests.fixtures.process import wait_until
from tests.integration.printed_steps import last_words, start_as_printed

pytestmark = [pytest.mark.core, pytest.mark.kafka]

DROP = "DROP TABLE public.outbox"
SAME = (
    "CREATE TABLE public.outbox (id uuid, aggregatetype text, aggregateid text, type text, payload jsonb,"
    " created_at timestamptz DEFAULT now())"
)
OTHER_ORDER = (
    "CREATE TABLE public.outbox (created_at timestamptz DEFAULT now(), note text, payload json, type varchar(30),"
    " id text, aggregateid text, aggregatetype text)"
)
BEFORE, HIDDEN, AFTER = range(50), range(100, 110), range(200, 210)


def insert(pipeline: Pipeline, numbers: range) -> None:
    for number in numbers:
        pipeline.database.execute(
            "INSERT INTO public.outbox (id, aggregatetype, aggregateid, type, payload)"
            " VALUES (gen_random_uuid(), %s, 'k', 'T', %s)",
            [pipeline.aggregate_type, json.dumps({"n": number})],
        )


def arrived(pipeline: Pipeline) -> set[int]:
    return {json.loads(record.value() or b"")["n"] for record in pipeline.records()}


def wait_until_arrived(pipeline: Pipeline, *expected: range) -> None:
    numbers = set().union(*expected)
    wait_until(lambda: numbers <= arrived(pipeline), timeout=60, what=f"{expected} arrive", every=0.2)


def put_back(pipeline: Pipeline) -> None:
    pipeline.database.execute(f"ALTER PUBLICATION {pipeline.publication} ADD TABLE public.outbox")


# --- while the relay streams


def recreate_under(relay: RelayProcess, pipeline: Pipeline, *statements: str) -> None:
    """Half of what was committed before is on its way when the table goes, the other half not even read."""
    insert(pipeline, BEFORE[:25])
    relay.pause()
    insert(pipeline, BEFORE[25:])
    for statement in statements:
        pipeline.database.execute(statement)
    insert(pipeline, HIDDEN)


@pytest.mark.parametrize("table", [SAME, OTHER_ORDER], ids=["same columns", "other columns"])
@pytest.mark.parametrize("is_put_back", [False, True], ids=["left out", "put back"])
def test_a_table_recreated_under_the_relay_is_refused_and_the_printed_repair_brings_every_row(
    pipeline: Pipeline, table: str, is_put_back: bool, tmp_path: Path
) -> None:
    relay = pipeline.start_relay()
    recreate_under(relay, pipeline, DROP, table)
    if is_put_back:
        put_back(pipeline)
    relay.resume()
    said = last_words(relay)
    assert f"publication {pipeline.publication} changed while the relay was reading" in said
    assert "is not as it was when it was last seen" in last_words(relay.start())  # a restart does not forget it
    relay = start_as_printed(pipeline, said, tmp_path)
    insert(pipeline, AFTER)
    wait_until_arrived(pipeline, BEFORE, HIDDEN, AFTER)
    assert relay.is_running


def test_a_table_that_is_gone_is_refused_until_it_is_there_again(pipeline: Pipeline, tmp_path: Path) -> None:
    relay = pipeline.start_relay()
    insert(pipeline, BEFORE)
    pipeline.database.execute(DROP)
    said = last_words(relay)
    assert f"publication {pipeline.publication} changed while the relay was reading" in said
    assert "there is no table public.outbox\n  what to do: create it" in last_words(relay.start())
    pipeline.database.execute(SAME)
    start_as_printed(pipeline, last_words(relay.start()), tmp_path)
    insert(pipeline, AFTER)
    wait_until_arrived(pipeline, BEFORE, AFTER)


# --- while no relay runs


@pytest.mark.parametrize("table", [SAME, OTHER_ORDER], ids=["same columns", "other columns"])
def test_a_table_recreated_without_a_relay_is_refused_at_the_start_and_the_printed_sql_repairs_it(
    pipeline: Pipeline, table: str, tmp_path: Path
) -> None:
    relay = pipeline.start_relay()
    relay.kill()
    insert(pipeline, BEFORE)
    pipeline.database.execute(DROP)
    pipeline.database.execute(table)
    insert(pipeline, HIDDEN)
    said = last_words(relay.start())
    assert f"publication {pipeline.publication} does not have table public.outbox" in said
    [sql] = re.findall(r"what to do: (ALTER [^;\n]+); \(rows committed before that are not in the slot\)", said)
    pipeline.database.execute(sql)
    start_as_printed(pipeline, last_words(relay.start()), tmp_path)
    insert(pipeline, AFTER)
    wait_until_arrived(pipeline, BEFORE, HIDDEN, AFTER)


@pytest.mark.parametrize("table", [SAME, OTHER_ORDER], ids=["same columns", "other columns"])
def test_rows_of_both_tables_arrive_if_the_new_one_was_put_back_before_its_first_row(
    pipeline: Pipeline, table: str
) -> None:
    """Which the guard cannot know: it says that events may be missing, and lets an operator accept it."""
    relay = pipeline.start_relay()
    relay.kill()
    insert(pipeline, BEFORE)
    for statement in (DROP, table):
        pipeline.database.execute(statement)
    put_back(pipeline)
    insert(pipeline, AFTER)
    assert "is not as it was" in last_words(relay.start())
    pipeline.start_relay("--accept-gap")
    wait_until_arrived(pipeline, BEFORE, AFTER)
    assert pipeline.database.execute("SELECT count(*) FROM cdc_relay.parked_records") == [(0,)]
