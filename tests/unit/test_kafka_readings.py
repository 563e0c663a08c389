"""librdkafka's statistics as metrics; the shape is that of its STATISTICS.md."""

from __future__ import annotations

import json

import pytest

from cdc_relay.http.kafka_readings import read_kafka

BROKER = {
    "name": "127.0.0.1:9092/1",
    "nodeid": 1,
    "nodename": "127.0.0.1:9092",
    "state": "UP",
    "outbuf_cnt": 2,
    "waitresp_cnt": 3,
    "rtt": {"avg": 1_500, "cnt": 7},
}
DOCUMENT = {
    "msg_cnt": 12,
    "msg_size": 3_400,
    "brokers": {
        "127.0.0.1:9092/1": BROKER,
        "127.0.0.1:9093/2": {
            **BROKER,
            "nodename": "127.0.0.1:9093",
            "nodeid": 2,
            "state": "CONNECT",
            "rtt": {"cnt": 0},
        },
        "127.0.0.1:9092/bootstrap": {**BROKER, "nodeid": -1},
    },
}


def read(document: object) -> dict[tuple[str, ...], float]:
    return {(name, *labels): value for name, value, labels in read_kafka(json.dumps(document))}


def test_queue_and_brokers_are_shown() -> None:
    assert read(DOCUMENT) == {
        ("outbox_kafka_queue_records",): 12,
        ("outbox_kafka_queue_bytes",): 3_400,
        ("outbox_kafka_broker_up", "127.0.0.1:9092/1"): 1,
        ("outbox_kafka_broker_requests_in_flight", "127.0.0.1:9092/1"): 5,
        ("outbox_kafka_broker_rtt_seconds", "127.0.0.1:9092/1"): 0.0015,
        ("outbox_kafka_broker_up", "127.0.0.1:9093/2"): 0,
        ("outbox_kafka_broker_requests_in_flight", "127.0.0.1:9093/2"): 5,
    }


@pytest.mark.parametrize("text", ["", "{}", "no JSON", "[1]", "7"])
def test_before_the_first_statistics_nothing_is_shown(text: str) -> None:
    assert list(read_kafka(text)) == []


def test_two_brokers_that_had_one_address_in_turn_are_told_apart() -> None:
    brokers = {name: {**BROKER, "nodeid": number} for number, name in enumerate(("old", "new"), start=1)}
    up = [key for key in read({"msg_cnt": 0, "brokers": brokers}) if key[0] == "outbox_kafka_broker_up"]
    assert [key[1] for key in up] == ["127.0.0.1:9092/1", "127.0.0.1:9092/2"]
