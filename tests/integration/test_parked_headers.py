"""A record that the broker refused has lost none of its headers, though nothing kept them while it was out."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fixtures.fix_kafka import KafkaBroker
from tests.fixtures.fix_relay import MakePipeline
from tests.fixtures.parked import parked, run_dlq, wait_for_parked

pytestmark = [pytest.mark.kafka, pytest.mark.real_kafka]

SMALL = {"max.message.bytes": "5000"}
Headers = list[tuple[str, bytes | None]]


def read_headers(stored: list[dict[str, str]]) -> Headers:
    return [(each["name"], each["value"].encode()) for each in stored]


def expect_headers(envelope: Any, usual: Headers, event_id: str, lsn: int, ordinal: int, time: str) -> Headers:
    """Those of another record of the same route, with what is of this one alone."""
    if envelope == "debezium":
        return [("id", event_id.encode())]
    own = {"ce_id": event_id, "ce_time": time, "ce_sequence": f"{lsn:016X}-{ordinal:08X}"}
    return [(name, own[name].encode() if name in own else value) for name, value in usual]


@pytest.mark.parametrize(
    "envelope", ["debezium", "cloudevents", {"cloudevents": "structured"}], ids=["debezium", "binary", "structured"]
)
def test_a_refused_record_is_parked_and_sent_again_with_all_its_headers(
    envelope: Any, make_pipeline: MakePipeline
) -> None:
    pipeline = make_pipeline(topic_config=SMALL)
    broker = pipeline.kafka
    assert isinstance(broker, KafkaBroker)
    outbox = {"table": pipeline.table, "routes": [{"topic": pipeline.topic, "envelope": envelope}]}
    relay = pipeline.start_relay(outboxes=[outbox])
    pipeline.insert()  # the first of a kind is routed by Python
    pipeline.insert()
    usual: Any = pipeline.wait_for_records(2)[1].headers()

    event_id = pipeline.insert("k2", payload='{"pad": "' + "x" * 20_000 + '"}')
    wait_for_parked(pipeline.database, 1)
    [(code, topic, stored, *place)] = parked(
        pipeline.database,
        "error_code, topic, headers, (commit_lsn - '0/0')::bigint, ordinal,"
        """ to_char(commit_time AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')""",
    )
    headers = read_headers(stored)
    assert (code, topic) == ("MSG_SIZE_TOO_LARGE", pipeline.topic)
    assert headers == expect_headers(envelope, usual, event_id, *place)

    broker.configure_topic(pipeline.topic, max_message_bytes="500000")
    run_dlq(relay, "retry", "--all", "--yes")
    assert pipeline.wait_for_records(3)[2].headers() == headers
