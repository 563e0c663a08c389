"""Routes on real servers: several outboxes in one process, what is dropped, what finds a route later."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.fixtures.consume import wait_for_records
from tests.fixtures.fix_relay import MakeRelay, Pipeline
from tests.fixtures.numbered import dlq
from tests.fixtures.process import wait_until

pytestmark = pytest.mark.kafka

STATUSES = "SELECT status, count(*) FROM cdc_relay.parked_records GROUP BY 1 ORDER BY 1"


def add_commands(pipeline: Pipeline) -> None:
    pipeline.database.execute(
        "CREATE TABLE commands (command_id bigint, tenant_id text, name text, body json, issued_at timestamptz)"
    )
    pipeline.database.execute(f"ALTER PUBLICATION {pipeline.publication} ADD TABLE commands")


def test_a_command_outbox_and_an_event_outbox_run_in_one_process(pipeline: Pipeline) -> None:
    add_commands(pipeline)
    commands, events = f"{pipeline.topic}.commands", f"{pipeline.topic}.events"
    for topic in (commands, events):
        pipeline.kafka.create_topic(topic)
    mapped = {"id": "command_id", "key": "tenant_id", "type": "name", "payload": "body", "timestamp": "issued_at"}
    pipeline.start_relay(
        outboxes=[
            {
                "table": "commands",
                "columns": mapped,
                "routes": [{"topic": commands, "headers": {"name": "{name}"}, "envelope": "native"}],
            },
            {"table": "outbox", "routes": [{"when": {"type": "No*"}, "drop": True}, {"topic": events}]},
        ]
    )
    with pipeline.database.connect(autocommit=False) as conn:
        conn.execute("INSERT INTO commands VALUES (9007199254740993, 'acme', 'Ship', '{\"n\": 1.10}', '2020-01-01Z')")
        for kind in ("Noise", "Placed"):
            insert = "INSERT INTO outbox VALUES (gen_random_uuid(), %s, 'k', %s, '{}')"
            conn.execute(insert, [pipeline.aggregate_type, kind])
    [command] = wait_for_records(pipeline.kafka.bootstrap, commands, 1)
    assert (command.key(), command.timestamp()[1]) == (b"acme", 1_577_836_800_000)
    assert ("name", b"Ship") in (command.headers() or [])
    value = json.loads(command.value() or b"", parse_float=str)
    assert (str(value["id"]), value["payload"], value["key"]) == ("9007199254740993", {"n": "1.10"}, "acme")
    assert len(wait_for_records(pipeline.kafka.bootstrap, events, 1)) == 1


def test_a_row_without_a_route_names_its_values_and_finds_a_new_route_when_it_is_retried(
    pipeline: Pipeline, make_relay: MakeRelay
) -> None:
    def config(*routes: dict[str, Any]) -> Any:
        return pipeline.config(outboxes=[{"table": "outbox", "routes": list(routes)}])

    order = {"when": {"type": "Placed"}, "topic": pipeline.topic}
    relay = make_relay(config(order)).wait_ready()
    for kind in ("Lost", "Noise", "Placed"):
        insert = "INSERT INTO outbox VALUES (gen_random_uuid(), %s, 'k', %s, '{\"secret\": 1}')"
        pipeline.database.execute(insert, [pipeline.aggregate_type, kind])
    wait_until(lambda: pipeline.database.execute(STATUSES) == [("dead", 2)], timeout=60, what="two are parked")
    errors = pipeline.database.execute("SELECT last_error FROM cdc_relay.parked_records ORDER BY commit_lsn")
    assert ["type='Lost'" in errors[0][0], "type='Noise'" in errors[1][0]] == [True, True]
    assert "secret" not in str(errors)
    assert relay.stop() == 0
    repaired = make_relay(config(order, {"when": {"type": "Noise"}, "drop": True}, {"topic": pipeline.topic}))
    repaired.wait_ready()
    dlq(repaired, "retry", "--all", "--yes")
    expected = [("discarded", 1), ("published", 1)]
    wait_until(lambda: pipeline.database.execute(STATUSES) == expected, timeout=60, what="both are done with")
    assert len(pipeline.records()) == 2
