"""An outbox that is dropped and created again (promise 12): refused with a remedy, and the remedy brings all back.

Each test does what the message and docs/operations.md say, word by word, and nothing else.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import yaml

from tests.fixtures.fix_relay import Pipeline, RelayProcess
from tests.fixtures.process import wait_until

pytestmark = [pytest.mark.core, pytest.mark.kafka]

OPERATIONS = Path(__file__).parents[2] / "docs" / "operations.md"
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


def last_words(relay: RelayProcess) -> str:
    assert relay.wait(60) == 3, relay.stderr
    assert "Traceback" not in relay.stderr
    return relay.stderr[relay.stderr.rindex("cdc-relay: ") :]


def put_back(pipeline: Pipeline) -> None:
    pipeline.database.execute(f"ALTER PUBLICATION {pipeline.publication} ADD TABLE public.outbox")


def run_printed_command(pipeline: Pipeline, relay: RelayProcess, said: str) -> None:
    [command] = re.findall(r"run cdc-relay (\w+ -c FILE) ", said)
    file = relay.config_file.with_name("owner.yaml")
    file.write_text(yaml.safe_dump(pipeline.as_owner(relay.config)))
    words = command.replace("FILE", str(file)).split()
    subprocess.run([sys.executable, "-m", "cdc_relay", *words], check=True, capture_output=True, timeout=60)


def publish_range_again(pipeline: Pipeline, said: str) -> None:
    """With the SQL of the manual, and the message's times, a minute more on either side."""
    first, last = (datetime.fromisoformat(f"{time}+00:00") for time in re.findall(r"\((\S+ \S+) UTC\)", said))
    block = OPERATIONS.read_text().partition("## Publish rows again")[2].partition("```sql\n")[2].partition("```")[0]
    times = [str(first - timedelta(minutes=1)), str(last + timedelta(minutes=1))]
    sql = re.sub(r"BETWEEN '[^']+' AND '[^']+'", f"BETWEEN '{times[0]}' AND '{times[1]}'", block)
    assert sql != block
    with pipeline.database.connect() as conn:
        conn.execute(sql.encode())


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
    pipeline: Pipeline, table: str, is_put_back: bool
) -> None:
    relay = pipeline.start_relay()
    recreate_under(relay, pipeline, DROP, table)
    if is_put_back:
        put_back(pipeline)
    relay.resume()
    said = last_words(relay)
    assert f"publication {pipeline.publication} changed while the relay was reading" in said
    run_printed_command(pipeline, relay, said)
    relay.start().wait_ready()
    insert(pipeline, AFTER)
    wait_until_arrived(pipeline, BEFORE, AFTER)
    assert arrived(pipeline).isdisjoint(HIDDEN)  # as the message says
    publish_range_again(pipeline, said)
    wait_until_arrived(pipeline, BEFORE, HIDDEN, AFTER)
    assert relay.is_running


def test_a_table_that_is_gone_is_refused_until_it_is_there_again(pipeline: Pipeline) -> None:
    relay = pipeline.start_relay()
    insert(pipeline, BEFORE)
    pipeline.database.execute(DROP)
    said = last_words(relay)
    assert f"publication {pipeline.publication} changed while the relay was reading" in said
    assert "there is no table public.outbox\n  what to do: create it" in last_words(relay.start())
    pipeline.database.execute(SAME)
    run_printed_command(pipeline, relay, said)
    relay.start().wait_ready()
    insert(pipeline, AFTER)
    wait_until_arrived(pipeline, BEFORE, AFTER)


# --- while no relay runs


@pytest.mark.parametrize("table", [SAME, OTHER_ORDER], ids=["same columns", "other columns"])
def test_a_table_recreated_without_a_relay_is_refused_at_the_start_and_the_printed_sql_repairs_it(
    pipeline: Pipeline, table: str
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
    relay.start().wait_ready()
    insert(pipeline, AFTER)
    wait_until_arrived(pipeline, BEFORE, AFTER)
    assert arrived(pipeline).isdisjoint(HIDDEN)


@pytest.mark.parametrize("table", [SAME, OTHER_ORDER], ids=["same columns", "other columns"])
def test_rows_of_both_tables_arrive_if_the_new_one_was_put_back_before_its_first_row(
    pipeline: Pipeline, table: str
) -> None:
    relay = pipeline.start_relay()
    relay.kill()
    insert(pipeline, BEFORE)
    for statement in (DROP, table):
        pipeline.database.execute(statement)
    put_back(pipeline)
    insert(pipeline, AFTER)
    relay.start().wait_ready()
    wait_until_arrived(pipeline, BEFORE, AFTER)
    assert pipeline.database.execute("SELECT count(*) FROM cdc_relay.parked_records") == [(0,)]
