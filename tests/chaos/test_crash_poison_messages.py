"""A message that kills the process is parked as `crash`, and the rest flows; once it is corrected it arrives."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.fixtures.fix_relay import MakeRelay, Pipeline, RelayProcess
from tests.fixtures.messages import EMIT, PREFIX, content, of_both_kinds
from tests.fixtures.numbered import Numbered, dlq, nurse
from tests.fixtures.parked import parked, wait_for_status

pytestmark = pytest.mark.kafka

POISON = "hemlock"
CULPRIT = 7
COUNT = 20  # in one transaction, those that are of any
MAX_DEATHS = 8  # two until it notes each record, three with the note open; some slack
KEYS = ["k0", "k1", "k2"]


def start(make_relay: MakeRelay, pipeline: Pipeline, *, where: str, **config: Any) -> RelayProcess:
    order = json.dumps({"poison": POISON, "where": where})
    return make_relay(pipeline.config(outboxes=[{"message_prefix": PREFIX}], **config), env={"SABOTAGE": order})


def emit_all(pipeline: Pipeline, *, transactional: bool) -> Numbered:
    events = Numbered(pipeline, pipeline.kafka)
    with pipeline.database.connect(autocommit=False) as conn:
        for number in range(COUNT):
            key, pad = KEYS[number % len(KEYS)], POISON if number == CULPRIT else ""
            said = content(pipeline, number, aggregateid=key, payload={"n": number, "pad": pad})
            conn.execute(EMIT, [transactional, PREFIX, said])
            events.put.setdefault(key, []).append(number)
    return events


def nurse_until_condemned(relay: RelayProcess, events: Numbered) -> None:
    columns = "status, error_class, error_code, length(remedy) > 20"

    def is_over() -> bool:
        found = parked(events.pipeline.database, columns)
        return found == [("dead", "crash", "crash", True)] and not events.missing(without={CULPRIT})

    deaths = nurse(relay, is_over, what="the culprit is parked and the rest flows", timeout=180)
    assert 3 <= deaths <= MAX_DEATHS


@of_both_kinds
@pytest.mark.parametrize(
    ("where", "ordering"),
    [("publish", "relaxed"), ("publish", "strict"), ("route", "strict"), ("exception", "relaxed")],
)
def test_a_message_that_kills_the_process_is_parked_and_the_rest_flows(
    pipeline: Pipeline, make_relay: MakeRelay, where: str, ordering: str, transactional: bool
) -> None:
    events = emit_all(pipeline, transactional=transactional)
    relay = start(make_relay, pipeline, where=where, delivery={"ordering": ordering})
    nurse_until_condemned(relay, events)
    if ordering == "strict":
        events.assert_in_order(without={CULPRIT})
    assert relay.stop() == 0


@of_both_kinds
def test_a_message_that_killed_the_process_arrives_after_it_was_corrected(
    pipeline: Pipeline, make_relay: MakeRelay, transactional: bool
) -> None:
    events = emit_all(pipeline, transactional=transactional)
    relay = start(make_relay, pipeline, where="route")
    nurse_until_condemned(relay, events)
    [(record_id, columns)] = parked(pipeline.database, "id, columns")
    assert [each["name"] for each in columns] == ["content"]
    content_edited = dlq(relay, "edit", record_id, "--print").replace(POISON, "water", 1)  # the payload stays
    dlq(relay, "edit", record_id, "--file", "-", "--retry", stdin=content_edited)
    events.wait_until_delivered()
    wait_for_status(pipeline.database, ["published"])
    assert relay.is_running
