"""What librdkafka sees of the brokers, and topics that take nothing."""

from __future__ import annotations

from tests.dashboard.panel import Panel, Query, Row
from tests.dashboard.queries import OURS, largest

__all__ = ["KAFKA"]

_EACH_BROKER = "{{service}} {{broker}}"

KAFKA = Row(
    "Kafka",
    (
        Panel(
            "Closed topics",
            "Topics that take no records; the others flow. `cdc-relay status` has the remedy.",
            (Query(largest("outbox_closed_topics")),),
            limits=(1,),
            runbook="records-are-parked",
        ),
        Panel(
            "How long a topic has been closed",
            "Empty when all are open.",
            (Query(largest("outbox_topic_closed_seconds", "service, topic"), "{{service}} {{topic}}"),),
            unit="s",
            runbook="records-are-parked",
        ),
        Panel(
            "Broker is connected",
            "0: the connection is down. librdkafka connects only to brokers that it needs.",
            (Query(f"min by (service, broker) (outbox_kafka_broker_up{{{OURS}}})", _EACH_BROKER),),
            runbook="holding-and-released",
        ),
        Panel(
            "Round trip to a broker",
            "Average of ten seconds. With acks=all it holds the wait for the other replicas.",
            (Query(largest("outbox_kafka_broker_rtt_seconds", "service, broker"), _EACH_BROKER),),
            unit="s",
            runbook="latency-is-high",
        ),
        Panel(
            "Queue of the producer",
            "Records that librdkafka has and the broker has not acknowledged.",
            (Query(largest("outbox_kafka_queue_records")),),
            runbook="latency-is-high",
        ),
        Panel(
            "Queue of the producer, bytes",
            "It is part of the window, and bounded by it.",
            (Query(largest("outbox_kafka_queue_bytes")),),
            unit="bytes",
            runbook="latency-is-high",
        ),
        Panel(
            "Requests in flight",
            "Sent or waiting to be sent. One broker alone is high: that broker is slow.",
            (Query(largest("outbox_kafka_broker_requests_in_flight", "service, broker"), _EACH_BROKER),),
            width=24,
            runbook="latency-is-high",
        ),
    ),
)
