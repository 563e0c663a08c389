"""The runbook's commands, run as docs/operations.md writes them."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.fixtures.fix_relay import Pipeline
from tests.integration.readme_text import ROOT

OPERATIONS = (ROOT / "docs" / "operations.md").read_text()

ALERTED = (
    *("The relay is gone", "The relay restarts or hangs", "Records are parked", "Latency is high", "Backlog grows"),
    *("The lot is nearly full", "A certificate expires", "Retention fails"),
)

pytestmark = pytest.mark.kafka


def section(title: str) -> str:
    """Of docs/operations.md; the head of the document with an empty title."""
    before, _, after = OPERATIONS.partition(f"\n## {title}\n") if title else ("", "", OPERATIONS)
    assert before or not title, f"no section {title}"
    return after.partition("\n## ")[0]


def commands(title: str) -> list[str]:
    """The lines that its blocks give to a shell."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", section(title), re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.startswith("cdc-relay ")]


def run(pipeline: Pipeline, command: str, directory: Path) -> subprocess.CompletedProcess[str]:
    """With the owner's role: the table is read."""
    file = directory / "relay.yaml"
    file.write_text(yaml.safe_dump(pipeline.config(dsn=pipeline.database.dsn()), sort_keys=False))
    words = shlex.split(command)[1:]
    if words[0] == "replay" and "--dry-run" not in words:
        words.append("--yes")  # nobody is there to ask
    program = [sys.executable, "-m", "cdc_relay", *words]
    return subprocess.run(program, capture_output=True, text=True, timeout=120, cwd=directory, check=False)


def insert_into(pipeline: Pipeline, count: int) -> list[str]:
    row = "INSERT INTO outbox VALUES (gen_random_uuid(), %s, 'k', 'T', '{}') RETURNING id::text"
    return [str(pipeline.database.execute(row, [pipeline.aggregate_type])[0][0]) for _ in range(count)]


def delivered_ids(pipeline: Pipeline) -> list[str]:
    values = [dict(record.headers() or {})["id"] for record in pipeline.records()]
    return [value.decode() for value in values if isinstance(value, bytes)]


@pytest.fixture
def outbox(pipeline: Pipeline) -> Pipeline:
    pipeline.database.execute("ALTER TABLE outbox ADD created_at timestamptz NOT NULL DEFAULT now()")
    return pipeline


def test_the_first_commands_of_the_runbook_say_that_all_is_well(outbox: Pipeline, tmp_path: Path) -> None:
    relay = outbox.start_relay()
    insert_into(outbox, 1)
    outbox.wait_for_records(1)
    first = commands("")
    assert [command.split()[1] for command in first] == ["status", "check"]
    for command in first:
        file = relay.config_file.parent
        answer = subprocess.run(
            [sys.executable, "-m", "cdc_relay", *shlex.split(command)[1:]],
            capture_output=True,
            text=True,
            timeout=120,
            cwd=file,
            check=False,
        )
        assert answer.returncode == 0, answer.stdout + answer.stderr


def test_the_runbook_publishes_rows_again_with_their_ids(outbox: Pipeline, tmp_path: Path) -> None:
    ids = insert_into(outbox, 2)
    outbox.start_relay()
    outbox.wait_for_records(2)
    dry, real = commands("Publish rows again")
    assert run(outbox, dry, tmp_path).returncode == 0
    assert sorted(delivered_ids(outbox)) == sorted(ids)
    answer = run(outbox, real, tmp_path)
    assert answer.returncode == 0, answer.stderr
    outbox.wait_for_records(4)
    assert sorted(delivered_ids(outbox)) == sorted(ids * 2)


def test_the_runbook_shows_what_a_teardown_would_lose(outbox: Pipeline, tmp_path: Path) -> None:
    [command] = commands("Taking it away")
    answer = run(outbox, command, tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert outbox.slot in answer.stdout + answer.stderr
    assert outbox.database.slot_names() == [outbox.slot]


def test_the_first_commands_of_the_alerts_work(outbox: Pipeline, tmp_path: Path) -> None:
    """With the relay down: they look at Postgres."""
    first = {command for title in ALERTED for command in commands(title)}
    looked = {" ".join(command.split()[1:3]) for command in first}
    assert looked == {"status -c", "check -c", "dlq stats", "dlq list", "retention -c"}
    answers = {command: run(outbox, command, tmp_path) for command in first}
    assert {command: answer.stderr for command, answer in answers.items() if answer.returncode} == {}


@pytest.mark.parametrize("title", ["Standby", "Slot lag grows", "WAL headroom is low", "Failover"])
def test_the_queries_of_the_runbook_find_the_slot(outbox: Pipeline, title: str) -> None:
    blocks = re.findall(r"^```sql\n(.*?)^```$", section(title), re.MULTILINE | re.DOTALL)
    [query, *_] = blocks[0].replace("orders_outbox", outbox.slot).split(";")
    assert outbox.database.execute(query) != []
