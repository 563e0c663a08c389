"""librdkafka's error codes in an operator's words. The complete table of decisions comes with the lot."""

from __future__ import annotations

from confluent_kafka import KafkaError

from cdc_relay.model import Failure

__all__ = ["QUEUE_TOO_SMALL", "describe"]

_TOO_LARGE = (
    "raise message.max.bytes under sink.kafka and max.message.bytes of the topic (or message.max.bytes of the"
    " broker), or make the payload smaller"
)
_NO_TOPIC = "create the topic, or let the broker create it (auto.create.topics.enable)"
_NO_RIGHT = "give the relay's principal the ACLs Describe and Write on the topic"
_DEFAULT = "see the broker's log for this time; correct the cause"

_REMEDIES = {
    KafkaError.MSG_SIZE_TOO_LARGE: _TOO_LARGE,
    KafkaError.RECORD_LIST_TOO_LARGE: _TOO_LARGE,
    KafkaError.UNKNOWN_TOPIC_OR_PART: _NO_TOPIC,
    KafkaError._UNKNOWN_TOPIC: _NO_TOPIC,
    KafkaError._UNKNOWN_PARTITION: "give the topic as many partitions as the route names",
    KafkaError.TOPIC_EXCEPTION: "correct the topic's name: Kafka does not allow it",
    KafkaError.TOPIC_AUTHORIZATION_FAILED: _NO_RIGHT,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "give the relay's principal the ACL IdempotentWrite on the cluster",
    KafkaError.INVALID_RECORD: "the topic accepts no such record: a compacted topic needs a key",
}

QUEUE_TOO_SMALL = Failure(
    "queue_too_small",
    "the record is larger than the producer's whole queue",
    "raise queue.buffering.max.kbytes under sink.kafka, or remove it",
)


def describe(error: KafkaError) -> Failure:
    return Failure(error.name(), error.str(), _REMEDIES.get(error.code(), _DEFAULT))
