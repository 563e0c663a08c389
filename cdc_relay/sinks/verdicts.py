"""What librdkafka says of a record, in the words of the table of failures. Decides nothing itself."""

from __future__ import annotations

from confluent_kafka import KafkaError

from cdc_relay.delivery.failures import TOO_LARGE_FOR_PRODUCER, judge
from cdc_relay.model import Failure, Record
from cdc_relay.parking.entry import Claim
from cdc_relay.sinks.producer import ReturnedContent
from cdc_relay.sinks.sink import Slip

__all__ = ["PURGED", "is_fatal", "judge_refusal", "judge_report", "returned_record"]

# A topic that is deleted takes its broker handle with it: _DESTROY was seen among the purged in a third of the tries.
PURGED = (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT, KafkaError._DESTROY)
_LOST_PARTITION = KafkaError(KafkaError._UNKNOWN_TOPIC).name()


def is_fatal(error: KafkaError) -> bool:
    return error.fatal() or error.code() == KafkaError._FATAL


def judge_report(error: KafkaError, *, partition: int, was_alone: bool) -> Failure:
    """`partition` as it was asked for. Seen: when a topic is deleted, what the partitioner had placed already fails as
    if it had asked for a partition that never was."""
    if error.code() == KafkaError._UNKNOWN_PARTITION and partition < 0:
        return judge(_LOST_PARTITION, error.str())
    return judge(error.name(), error.str(), was_alone=was_alone)


def judge_refusal(error: KafkaError) -> Failure:
    """Of produce(): about this record and no other."""
    if error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
        return judge(TOO_LARGE_FOR_PRODUCER, "the record is larger than message.max.bytes under sink.kafka")
    return judge(error.name(), error.str(), was_alone=True)


def returned_record(slip: Slip, content: ReturnedContent, *, timestamp_ms: int, partition: int) -> Record:
    """Failed reports have no headers and no timestamp, and the partition that was chosen, not the one asked for."""
    if isinstance(slip, Claim) and slip.record is not None:
        return slip.record
    topic, key, value = content
    headers = slip.headers if isinstance(slip, Claim) else slip.find_headers()
    return Record(topic or slip.topic, key, value, headers, timestamp_ms, slip.size_bytes, slip.policy, partition)
