"""A publication that changes for a table while messages come too (promise 12): noticed all the same, and no message is
lost, although messages pass whatever the publication says."""

from __future__ import annotations

import json
import re

import pytest

from cdc_relay.protocol.lsn import parse_lsn
from tests.fixtures.fix_relay import MakeRelay, Pipeline, RelayProcess
from tests.fixtures.messages import content, emit, start
from tests.fixtures.parked import end_lsn
from tests.fixtures.process import wait_until

pytestmark = [pytest.mark.core, pytest.mark.kafka]

TABLE = {"table": "public.outbox"}
TAKE_OUT = "ALTER PUBLICATION {publication} DROP TABLE outbox"
PUT_BACK = "ALTER PUBLICATION {publication} ADD TABLE outbox"
CHANGES = {"table taken out": [TAKE_OUT], "table taken out and put back": [TAKE_OUT, PUT_BACK]}
PLACE = r"LSN ([0-9A-F]+/[0-9A-F]+) \([^)]*\)"


class Writer:
    """Of messages, numbered from 0, by turns of both kinds."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.count = 0
        self._pipeline = pipeline

    def emit(self) -> None:
        emit(self._pipeline, content(self._pipeline, self.count), transactional=self.count % 2 == 0)
        self.count += 1

    def emit_until_ended(self, relay: RelayProcess) -> None:
        def is_over() -> bool:
            self.emit()
            return not relay.is_running

        wait_until(is_over, timeout=60, what="the relay ends", every=0.2)


def arrived(pipeline: Pipeline) -> list[int]:
    """First deliveries in their order."""
    return list(dict.fromkeys(json.loads(record.value() or b"")["n"] for record in pipeline.records()))


def change(pipeline: Pipeline, statements: list[str]) -> tuple[int, int]:
    """Where the WAL ended before and after."""
    before = end_lsn(pipeline.database)
    for statement in statements:
        pipeline.database.execute(statement.format(publication=pipeline.publication))
    return before, end_lsn(pipeline.database)


@pytest.mark.parametrize("statements", CHANGES.values(), ids=CHANGES)
def test_a_stream_of_messages_hides_no_change_and_none_of_them_is_lost(
    pipeline: Pipeline, make_relay: MakeRelay, statements: list[str]
) -> None:
    relay = start(pipeline, TABLE)
    writer = Writer(pipeline)
    writer.emit()
    pipeline.wait_for_records(1)
    before, after = change(pipeline, statements)
    writer.emit_until_ended(relay)
    assert relay.returncode == 3
    assert "what to do: " in relay.stderr
    found = re.search(f"publication {pipeline.publication} changed .* between {PLACE} and {PLACE}", relay.stderr)
    assert found, relay.stderr
    assert parse_lsn(found[1]) <= before <= after <= parse_lsn(found[2])

    writer.emit()
    assert make_relay(pipeline.as_owner(relay.config), command="setup").wait() == 0
    make_relay(relay.config, "--accept-gap").wait_ready()
    writer.emit()
    pipeline.insert(payload=json.dumps({"n": writer.count}))
    wait_until(lambda: writer.count in arrived(pipeline), timeout=60, what="the row after the repair arrives")
    assert arrived(pipeline) == list(range(writer.count + 1))
