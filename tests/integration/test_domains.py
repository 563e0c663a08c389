"""Domains, as the stream describes them: values mean what the domain is made of, also those that were parked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.fixtures.fix_relay import MakePipeline, Pipeline
from tests.fixtures.parked import wait_for_parked
from tests.fixtures.relay_process import RelayProcess

pytestmark = [pytest.mark.kafka, pytest.mark.core]

MAKE = """
CREATE DOMAIN bytes AS bytea;
CREATE DOMAIN few_bytes AS bytes CHECK (length(VALUE) < 9);
CREATE DOMAIN document AS jsonb;
CREATE DOMAIN euros AS numeric(10,2);
ALTER TABLE outbox DROP payload, ADD payload {payload}, ADD price euros, ADD moment timestamp(3);
"""


def prepare(pipeline: Pipeline, payload: str) -> None:
    pipeline.database.execute(MAKE.format(payload=payload))


def insert(pipeline: Pipeline, payload: str, *, aggregate_type: str | None = None) -> None:
    pipeline.database.execute(
        "INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload, price, moment)"
        " VALUES (gen_random_uuid(), %s, 'k', 'T', %s, 1.5, '1970-01-01 00:00:01.5')",
        [aggregate_type or pipeline.aggregate_type, payload],
    )


def start(pipeline: Pipeline, **route: Any) -> RelayProcess:
    routes = [{"name": "all", "topic": pipeline.topic, **route}]
    return pipeline.start_relay(outboxes=[{"table": "public.outbox", "routes": routes}])


@pytest.mark.parametrize("envelope", ["raw", "debezium"])
def test_bytes_of_a_domain_of_a_domain_are_bytes(pipeline: Pipeline, envelope: str) -> None:
    prepare(pipeline, "few_bytes")
    start(pipeline, envelope=envelope)
    insert(pipeline, r"\x00ff")
    [record] = pipeline.wait_for_records(1)
    assert record.value() == b"\x00\xff"


def test_json_of_a_domain_is_inside_the_envelope_as_json(pipeline: Pipeline) -> None:
    prepare(pipeline, "document")
    start(pipeline, envelope="native")
    insert(pipeline, '{"a": 1.50}')
    [record] = pipeline.wait_for_records(1)
    assert b'"payload":{"a": 1.50}' in (record.value() or b"")


FIELDS = {
    "debezium": {
        "fields": [{"column": "price", "placement": "envelope"}, {"column": "moment", "placement": "envelope"}]
    }
}
MEANT = {"price": 1.5, "moment": 1500}  # a number; milliseconds, since timestamp(3) has no more


def test_a_row_means_the_same_after_it_was_parked(make_pipeline: MakePipeline) -> None:
    pipeline = make_pipeline()
    prepare(pipeline, "text")
    relay = pipeline.start_relay(outboxes=[routed(pipeline, when={"aggregatetype": pipeline.aggregate_type})])
    insert(pipeline, "first")
    insert(pipeline, "second", aggregate_type="unknown")
    wait_for_parked(pipeline.database, 1, where="error_code = 'no_route'")
    assert relay.stop() == 0
    pipeline.database.execute("UPDATE cdc_relay.parked_records SET next_retry_at = now(), status = 'retrying'")
    pipeline.start_relay(outboxes=[routed(pipeline)])
    values = [json.loads(record.value() or b"") for record in pipeline.wait_for_records(2)]
    assert values == [{"payload": "first"} | MEANT, {"payload": "second"} | MEANT]


def routed(pipeline: Pipeline, **more: Any) -> dict[str, Any]:
    return {"table": "public.outbox", "routes": [{"name": "all", "topic": pipeline.topic, "envelope": FIELDS, **more}]}
