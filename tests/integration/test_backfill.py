"""`setup --backfill` on real servers: each row from before the slot once, none twice with what streams later."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.fixtures.fix_relay import MakeRelay, Pipeline
from tests.fixtures.outbox import insert_event
from tests.fixtures.process import wait_until
from tests.integration.replay_rig import (
    backfill,
    header_of,
    ids_of,
    insert_rows,
    run_rows,
    without_slot,
)

pytestmark = pytest.mark.kafka

HEADER = "cdc-relay-backfill"


@contextmanager
def writing(pipeline: Pipeline) -> Iterator[list[str]]:
    """Events committed one after the other all the while; their ids."""
    ids: list[str] = []
    is_over = threading.Event()

    def write() -> None:
        with pipeline.database.connect() as conn:
            while not is_over.is_set():
                ids.append(insert_event(conn, pipeline.aggregate_type))
                is_over.wait(0.002)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield ids
    finally:
        is_over.set()
        writer.join()


@pytest.mark.core
def test_each_row_arrives_once_while_others_are_committed_before_during_and_after(
    pipeline: Pipeline, make_relay: MakeRelay
) -> None:
    without_slot(pipeline)
    first = insert_rows(pipeline, 50)
    with writing(pipeline) as ids:
        wait_until(lambda: len(ids) > 100, timeout=60, what="rows are committed before the slot")
        backfill(make_relay, pipeline, "--rate", "400")
        count = len(ids)
        wait_until(lambda: len(ids) > count + 100, timeout=60, what="rows are committed after the backfill")
        pipeline.start_relay()
        count = len(ids)
        wait_until(lambda: len(ids) > count + 100, timeout=60, what="rows are committed while the relay runs")
    records = pipeline.wait_for_records(50 + len(ids))
    assert Counter(ids_of(records)) == Counter(first + ids)
    assert {header_of(record, HEADER) is not None for record in records} == {True, False}
    assert run_rows(pipeline, "kind, state, attempt") == [("backfill", "finished", 1)]
