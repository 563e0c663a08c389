"""The runbook's repairs, run as docs/operations.md writes them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.fixtures.fix_relay import Pipeline
from tests.integration.readme_text import ROOT

OPERATIONS = (ROOT / "docs" / "operations.md").read_text()


def runbook_sql(*words: str) -> str:
    """The one block of SQL in docs/operations.md that has all of these words."""
    found = re.findall(r"^```sql\n(.*?)^```$", OPERATIONS, re.MULTILINE | re.DOTALL)
    [sql] = [sql for sql in found if all(word in sql for word in words)]
    return str(sql)


def run_sql(pipeline: Pipeline, directory: Path, sql: str, replaced: dict[str, str]) -> None:
    for example, actual in replaced.items():
        assert example in sql
        sql = sql.replace(example, actual)
    script = directory / "repair.sql"
    script.write_text(sql)
    pipeline.database.server.psql("-f", str(script), dbname=pipeline.database.name)


def insert_into(pipeline: Pipeline, *aggregate_types: str) -> list[str]:
    """One transaction; the ids."""
    with pipeline.database.connect(autocommit=False) as conn:
        row = "INSERT INTO outbox VALUES (gen_random_uuid(), %s, 'k', 'T', '{}') RETURNING id::text"
        return [str(conn.execute(row, [each]).fetchall()[0][0]) for each in aggregate_types]


def delivered_ids(pipeline: Pipeline) -> list[str]:
    values = [dict(record.headers() or {})["id"] for record in pipeline.records()]
    return [value.decode() for value in values if isinstance(value, bytes)]


@pytest.fixture
def outbox(pipeline: Pipeline) -> Pipeline:
    pipeline.database.execute("ALTER TABLE outbox ADD created_at timestamptz NOT NULL DEFAULT now()")
    return pipeline


@pytest.mark.kafka
def test_the_runbook_publishes_rows_again_with_their_ids(outbox: Pipeline, tmp_path: Path) -> None:
    ids = insert_into(outbox, outbox.aggregate_type, outbox.aggregate_type)
    outbox.start_relay()
    outbox.wait_for_records(2)
    whole_range = {"2026-01-01 11:59:00+00": "-infinity", "2026-01-01 12:02:00+00": "infinity"}
    run_sql(outbox, tmp_path, runbook_sql("created_at BETWEEN"), whole_range)
    outbox.wait_for_records(4)
    assert sorted(delivered_ids(outbox)) == sorted(ids * 2)
