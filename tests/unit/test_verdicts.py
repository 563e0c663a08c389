"""librdkafka's verdicts in an operator's words."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from cdc_relay.sinks.verdicts import describe


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        (KafkaError.MSG_SIZE_TOO_LARGE, "message.max.bytes under sink.kafka"),
        (KafkaError.RECORD_LIST_TOO_LARGE, "max.message.bytes of the topic"),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, "create the topic"),
        (KafkaError._UNKNOWN_TOPIC, "create the topic"),
        (KafkaError._UNKNOWN_PARTITION, "as many partitions"),
        (KafkaError.TOPIC_EXCEPTION, "topic's name"),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "Describe and Write"),
        (KafkaError.CLUSTER_AUTHORIZATION_FAILED, "IdempotentWrite"),
        (KafkaError.INVALID_RECORD, "compacted topic needs a key"),
    ],
)
def test_a_known_verdict_comes_with_its_own_remedy(code: int, remedy: str) -> None:
    failure = describe(KafkaError(code))
    assert remedy in failure.remedy
    assert failure.code == KafkaError(code).name()


def test_an_unknown_verdict_points_to_the_broker_s_log() -> None:
    assert "broker's log" in describe(KafkaError(KafkaError.POLICY_VIOLATION)).remedy


def test_the_broker_s_own_words_are_kept() -> None:
    error = KafkaError(KafkaError.INVALID_RECORD, "one or more records have been rejected")
    assert describe(error).reason == "one or more records have been rejected"


def test_two_remedies_for_size_are_one() -> None:
    too_large = {KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE}
    assert len({describe(KafkaError(code)).remedy for code in too_large}) == 1
