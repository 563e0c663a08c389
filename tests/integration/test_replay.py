"""Rows of the table again, on real servers: which rows, in which order, marked how, and that the slot is left alone."""

from __future__ import annotations

import pytest

from tests.fixtures.fix_relay import MakeRelay, Pipeline
from tests.integration.replay_rig import ids_of, insert_rows, marks, replay, run_rows, summary

pytestmark = pytest.mark.kafka


@pytest.mark.core
def test_all_rows_are_published_again_in_the_order_of_the_table_and_marked(
    pipeline: Pipeline, make_relay: MakeRelay
) -> None:
    ids = insert_rows(pipeline, 25)
    confirmed = pipeline.confirmed_lsn()
    done = summary(replay(make_relay, pipeline))
    records = pipeline.wait_for_records(25)
    assert ids_of(records) == ids
    assert marks(records) == {done["run"]}
    assert (done["finished"], done["read"], done["published"], done["parked"]) == (True, 25, 25, 0)
    assert run_rows(pipeline, "id, kind, state, published_count") == [(done["run"], "replay", "finished", 25)]
    assert pipeline.confirmed_lsn() == confirmed
