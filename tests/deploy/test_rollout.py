"""A rollout as the Deployment does it: a new relay beside the two, ready as a standby, then an old one is stopped."""

from __future__ import annotations

import pytest

from tests.fixtures.fix_relay import Pipeline
from tests.integration.waiting_rig import assert_it_delivers, wait_for_state


@pytest.mark.kafka
def test_a_rollout_of_reader_and_standby_goes_through_and_events_flow(pipeline: Pipeline) -> None:
    reader = pipeline.start_relay()
    standby = pipeline.start_relay(ready=False)
    wait_for_state(standby, "standby")
    for old in (reader, standby):
        pipeline.start_relay()  # maxSurge 1: ready before anything is taken away
        assert old.stop() == 0
        assert_it_delivers(pipeline, pipeline.insert())
