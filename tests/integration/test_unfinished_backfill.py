"""An unfinished backfill is seen before `run` meets it: by `check` and `status`, with the command that helps."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixtures.fix_relay import Pipeline
from tests.integration.check_rig import Check
from tests.integration.status_rig import look_json

pytestmark = pytest.mark.kafka


@pytest.fixture
def check(pipeline: Pipeline, tmp_path: Path) -> Check:
    return Check.without_kafka(pipeline, tmp_path)


def leave_unfinished(pipeline: Pipeline) -> None:
    """As a backfill that died after it had made the slot."""
    pipeline.database.execute(
        "INSERT INTO cdc_relay.replays (id, slot, kind, slot_lsn) SELECT 'backfill-1', slot_name, 'backfill',"
        " confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = %s",
        [pipeline.slot],
    )


@pytest.mark.core
def test_check_fails_and_its_command_finishes_the_backfill(pipeline: Pipeline, check: Check) -> None:
    assert check.is_fine("backfill")
    leave_unfinished(pipeline)
    finding = check.repair("backfill", "fail")
    assert "backfill backfill-1 of slot" in finding["found"]
    assert [step["way"] for step in finding["fix"]] == ["shell"]


def test_status_says_it_before_anything_of_the_slot(pipeline: Pipeline, check: Check) -> None:
    leave_unfinished(pipeline)
    check.findings()  # which writes the file
    verdict = look_json(check.file)["verdict"]
    assert verdict["level"] == "act" and "backfill backfill-1 began" in verdict["text"]
    check.apply({"fix": [{"way": "shell", "text": verdict["text"].rpartition("works on it: ")[2]}]})
    assert "start the relay" in look_json(check.file)["verdict"]["text"]


def test_a_question_that_postgres_does_not_answer_is_said(pipeline: Pipeline, check: Check) -> None:
    """A lock upon the guard's table, for longer than check waits: neither finding may vanish."""
    with pipeline.database.connect(autocommit=False) as conn:
        conn.execute("LOCK TABLE cdc_relay.guard, cdc_relay.replays IN ACCESS EXCLUSIVE MODE")
        unseen = {each["name"] for each in check.findings() if "could not be looked at" in each["found"]}
    assert unseen == {"guard.gap", "backfill"}
