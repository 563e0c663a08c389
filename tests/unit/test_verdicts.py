"""librdkafka's verdicts in the words of the table of failures."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from cdc_relay.model import Action, ErrorClass, Failure, Scope
from cdc_relay.sinks.verdicts import is_fatal, judge_refusal, judge_report


def judged(code: int, text: str | None = None, *, partition: int = -1, was_alone: bool = False) -> Failure:
    error = KafkaError(code) if text is None else KafkaError(code, text)
    return judge_report(error, partition=partition, was_alone=was_alone)


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        (KafkaError.MSG_SIZE_TOO_LARGE, "max.message.bytes of the topic"),
        (KafkaError.RECORD_LIST_TOO_LARGE, "max.message.bytes of the topic"),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, "create the topic"),
        (KafkaError._UNKNOWN_TOPIC, "create the topic"),
        (KafkaError.TOPIC_EXCEPTION, "topic's name"),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "Describe and Write"),
        (KafkaError.CLUSTER_AUTHORIZATION_FAILED, "IdempotentWrite"),
        (KafkaError.INVALID_RECORD, "compacted topic needs a key"),
        (KafkaError.POLICY_VIOLATION, "broker's log"),
    ],
)
def test_a_known_verdict_comes_with_its_own_remedy(code: int, remedy: str) -> None:
    failure = judged(code)
    assert remedy in failure.remedy
    assert failure.code == KafkaError(code).name()


def test_the_broker_s_own_words_are_kept() -> None:
    assert judged(KafkaError.INVALID_RECORD, "one or more were rejected").reason == "one or more were rejected"


def test_a_partition_that_the_route_named_is_the_record_s_fault() -> None:
    failure = judged(KafkaError._UNKNOWN_PARTITION, partition=7)
    assert (failure.scope, failure.action) == (Scope.RECORD, Action.PARK)
    assert "as many partitions" in failure.remedy


def test_a_partition_that_vanished_is_the_topic_s_fault() -> None:
    """So librdkafka tells of a topic that was deleted."""
    assert judged(KafkaError._UNKNOWN_PARTITION).action is Action.CLOSE_TOPIC
    assert judged(KafkaError._UNKNOWN_PARTITION, was_alone=True).action is Action.CLOSE_TOPIC


def test_a_refusal_of_the_size_by_the_client_is_about_this_record_for_good() -> None:
    failure = judge_refusal(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE))
    assert (failure.code, failure.error_class) == ("too_large_for_producer", ErrorClass.PERMANENT)
    assert failure.action is Action.PARK
    assert "message.max.bytes under sink.kafka" in failure.remedy


@pytest.mark.parametrize("code", [KafkaError._UNKNOWN_TOPIC, KafkaError.TOPIC_AUTHORIZATION_FAILED])
def test_the_client_s_refusal_of_a_topic_is_about_the_topic(code: int) -> None:
    assert judge_refusal(KafkaError(code)).action is Action.CLOSE_TOPIC


def test_a_purge_that_nobody_asked_for_is_no_fault_of_the_record() -> None:
    for code in (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT):
        assert judged(code, was_alone=True).action is Action.HOLD


@pytest.mark.parametrize(
    ("error", "fatal"),
    [
        (KafkaError(KafkaError._FATAL), True),
        (KafkaError(KafkaError.INVALID_RECORD), False),
        (KafkaError(KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, "planted", True), True),
    ],
)
def test_what_is_fatal_is_so_by_code_or_by_flag(error: KafkaError, fatal: bool) -> None:
    assert is_fatal(error) is fatal
