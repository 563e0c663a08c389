"""`cdc-relay check` and the slot guard: a gap is found before `run` meets it, with the steps that close it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixtures.fix_relay import Pipeline
from tests.integration.check_rig import Check
from tests.integration.guard_rig import recreate, wait_until_arrived

pytestmark = [pytest.mark.core, pytest.mark.kafka]


@pytest.fixture
def check(pipeline: Pipeline, tmp_path: Path) -> Check:
    return Check.without_kafka(pipeline, tmp_path)


def test_before_the_first_run_nothing_can_be_missing(check: Check) -> None:
    assert check.is_fine("guard.gap")


def test_a_slot_that_is_read_has_no_gap(pipeline: Pipeline, check: Check) -> None:
    pipeline.start_relay()
    wait_until_arrived(pipeline, pipeline.insert())
    assert check.is_fine("guard.gap")


def test_a_slot_that_was_made_again_fails_with_the_steps_of_the_refusal(pipeline: Pipeline, check: Check) -> None:
    relay = pipeline.start_relay()
    wait_until_arrived(pipeline, pipeline.insert())
    assert relay.stop() == 0
    recreate(pipeline)
    finding = check.bad("guard.gap", "fail")
    assert "dropped and made again" in finding["found"]
    assert "cdc-relay run -c" in str(finding) and "--accept-gap" in str(finding)
    pipeline.start_relay("--accept-gap")
    assert check.is_fine("guard.gap")
