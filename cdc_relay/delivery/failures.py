"""The table of failures: for each code of a broker, of librdkafka and of our own, how far it reaches, what is done,
whether it may pass, and what an operator can do. Pure: codes are librdkafka's names, no library is imported.

A code from a broker is a verdict on a batch: where it may be the fault of one record, the records are sent again alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from cdc_relay.model import Action, ErrorClass, Failure, Scope

__all__ = ["CRASH", "NOT_ACKNOWLEDGED", "QUEUE_TOO_SMALL", "TABLE", "TOO_LARGE_FOR_PRODUCER", "Row", "judge"]

# our own codes; those of routing are made there
QUEUE_TOO_SMALL = "queue_too_small"
TOO_LARGE_FOR_PRODUCER = "too_large_for_producer"
NOT_ACKNOWLEDGED = "not_acknowledged"
CRASH = "crash"


class Row(NamedTuple):
    """One decision, and the codes that share it."""

    codes: tuple[str, ...]
    scope: Scope
    action: Action
    error_class: ErrorClass  # of a batch verdict: when the record fails alone, too
    remedy: str


_TRANSIENT, _PERMANENT = ErrorClass.TRANSIENT, ErrorClass.PERMANENT


def _park(codes: str, remedy: str, error_class: ErrorClass = _TRANSIENT) -> Row:
    return Row(tuple(codes.split()), Scope.RECORD, Action.PARK, error_class, remedy)


def _send_alone(codes: str, remedy: str, error_class: ErrorClass = _TRANSIENT) -> Row:
    return Row(tuple(codes.split()), Scope.BATCH, Action.RESEND_ALONE, error_class, remedy)


def _close_topic(codes: str, remedy: str) -> Row:
    return Row(tuple(codes.split()), Scope.TOPIC, Action.CLOSE_TOPIC, _TRANSIENT, remedy)


def _hold(codes: str, remedy: str) -> Row:
    return Row(tuple(codes.split()), Scope.CLUSTER, Action.HOLD, _TRANSIENT, remedy)


def _rebuild(codes: str, remedy: str) -> Row:
    return Row(tuple(codes.split()), Scope.PRODUCER, Action.REBUILD, _TRANSIENT, remedy)


_RECORD = (
    _park(
        TOO_LARGE_FOR_PRODUCER,
        "raise message.max.bytes under sink.kafka (and max.message.bytes of the topic, or message.max.bytes of the"
        " broker), then: cdc-relay dlq retry; or make the payload smaller",
        _PERMANENT,
    ),
    _park(QUEUE_TOO_SMALL, "raise queue.buffering.max.kbytes under sink.kafka, or remove it"),
    _park("TOPIC_EXCEPTION", "correct the topic's name: Kafka does not allow it", _PERMANENT),
    _park(
        "_INVALID_ARG",
        "librdkafka takes no such record: correct its topic (1 to 249 characters), partition or headers",
        _PERMANENT,
    ),
    _park("_UNKNOWN_PARTITION", "give the topic as many partitions as the route names"),
    Row(
        (CRASH,),
        Scope.RECORD,
        Action.PARK,
        ErrorClass.CRASH,
        "the relay died each time it processed this record: look at it with cdc-relay dlq show and at the relay's log"
        " before its last starts, report the defect, then edit, retry or discard it",
    ),
)

_BATCH = (
    _send_alone(
        "MSG_SIZE_TOO_LARGE RECORD_LIST_TOO_LARGE INVALID_MSG_SIZE",
        "raise max.message.bytes of the topic (or message.max.bytes of the broker, and its log segment size), or make"
        " the payload smaller; message.max.bytes under sink.kafka must allow it too",
    ),
    _send_alone("INVALID_RECORD", "the topic accepts no such record: a compacted topic needs a key", _PERMANENT),
    _send_alone(
        "INVALID_TIMESTAMP",
        "the record's time is outside of what the topic accepts: correct the clock of the database, or the topic's"
        " message.timestamp.before.max.ms and message.timestamp.after.max.ms",
    ),
    _send_alone(
        "INVALID_MSG _BAD_MSG _BAD_COMPRESSION",
        "the record was damaged between here and the broker's disk: look for network and disk faults",
    ),
    _send_alone(
        "POLICY_VIOLATION",
        "a policy of the broker refuses the record: see the broker's log for the policy and its reason",
    ),
    _send_alone("UNKNOWN INVALID_REQUEST", "see the broker's log for this time; correct the cause"),
    Row(
        ("_INVALID_DIFFERENT_RECORD",),
        Scope.BATCH,
        Action.RESEND,
        _TRANSIENT,
        "nothing: another record of its batch was refused, this one is sent again",
    ),
)

_TOPIC = (
    _close_topic(
        "UNKNOWN_TOPIC_OR_PART _UNKNOWN_TOPIC UNKNOWN_TOPIC_ID INCONSISTENT_TOPIC_ID",
        "create the topic, or let the broker create it (auto.create.topics.enable)",
    ),
    _close_topic(
        "INVALID_REPLICATION_FACTOR INVALID_PARTITIONS",
        "the broker cannot create the topic with its default.replication.factor and num.partitions: create it by hand,"
        " or correct them",
    ),
    _close_topic("TOPIC_AUTHORIZATION_FAILED", "give the relay's principal the ACLs Describe and Write on the topic"),
    _close_topic(
        "LEADER_NOT_AVAILABLE NOT_LEADER_FOR_PARTITION REPLICA_NOT_AVAILABLE PREFERRED_LEADER_NOT_AVAILABLE"
        " ELIGIBLE_LEADERS_NOT_AVAILABLE FENCED_LEADER_EPOCH UNKNOWN_LEADER_EPOCH LISTENER_NOT_FOUND",
        "a partition of the topic has no leader: start the brokers that hold its replicas",
    ),
    _close_topic(
        "NOT_ENOUGH_REPLICAS NOT_ENOUGH_REPLICAS_AFTER_APPEND _ISR_INSUFF",
        "start the brokers that hold the topic's replicas, or lower its min.insync.replicas",
    ),
    _close_topic(
        "KAFKA_STORAGE_ERROR LOG_DIR_NOT_FOUND", "repair the disk of the broker that leads the topic's partition"
    ),
    _close_topic(
        "UNSUPPORTED_COMPRESSION_TYPE UNSUPPORTED_FOR_MESSAGE_FORMAT",
        "the topic takes no records of this kind: another compression.codec under sink.kafka, or a newer message format"
        " of the topic",
    ),
    _close_topic(
        NOT_ACKNOWLEDGED,
        "the broker acknowledges nothing on this topic while it does on others: look at the leaders of its partitions",
    ),
)

_CLUSTER = (
    _hold(
        "_TRANSPORT _ALL_BROKERS_DOWN _RESOLVE _FAIL _UNKNOWN_BROKER _NODE_UPDATE _DESTROY _DESTROY_BROKER"
        " NETWORK_EXCEPTION BROKER_NOT_AVAILABLE REBOOTSTRAP_REQUIRED",
        "check bootstrap.servers under sink.kafka, the network, and that the brokers run",
    ),
    _hold(
        "_TIMED_OUT _TIMED_OUT_QUEUE _MSG_TIMED_OUT REQUEST_TIMED_OUT _PURGE_QUEUE _PURGE_INFLIGHT _RETRY _INTR"
        " _IN_PROGRESS _PREV_IN_PROGRESS _OUTDATED _PARTIAL _UNDERFLOW _WAIT_COORD _WAIT_CACHE",
        "nothing yet: the record is sent again, and may be on the topic already; if it lasts, see whether the brokers"
        " are overloaded or unreachable",
    ),
    _hold(
        "_SSL _AUTHENTICATION SASL_AUTHENTICATION_FAILED UNSUPPORTED_SASL_MECHANISM ILLEGAL_SASL_STATE"
        " SECURITY_DISABLED PRINCIPAL_DESERIALIZATION_FAILURE DELEGATION_TOKEN_EXPIRED",
        "correct security.protocol, the ssl.* and the sasl.* properties under sink.kafka, or the user on the broker",
    ),
    _hold(
        "CLUSTER_AUTHORIZATION_FAILED",
        "give the relay's principal the ACL IdempotentWrite on the cluster, or Write on at least one topic",
    ),
    _hold(
        "COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR THROTTLING_QUOTA_EXCEEDED",
        "nothing yet: the brokers are starting or throttle; if it lasts, see their logs and the quota of the principal",
    ),
    _hold(
        "UNSUPPORTED_VERSION _UNSUPPORTED_FEATURE _UNKNOWN_PROTOCOL INVALID_REQUIRED_ACKS",
        "the brokers are too old for an idempotent producer, or this is no Kafka: check bootstrap.servers",
    ),
    _hold(
        "_CRIT_SYS_RESOURCE _QUEUE_FULL",
        "this host is short of memory, threads or file descriptors: free some, or raise the process's limits",
    ),
)

_PRODUCER = (
    _rebuild(
        "_FATAL _GAPLESS_GUARANTEE _INCONSISTENT _FENCED _STATE OUT_OF_ORDER_SEQUENCE_NUMBER"
        " DUPLICATE_SEQUENCE_NUMBER PRODUCER_FENCED INVALID_PRODUCER_EPOCH INVALID_PRODUCER_ID_MAPPING"
        " UNKNOWN_PRODUCER_ID INVALID_TXN_STATE TRANSACTION_ABORTABLE",
        "nothing: the relay builds a new producer; if it comes again and again, see the broker's log",
    ),
)

# Codes of consumers, groups, transactions, administration and brokers among themselves.
_UNEXPECTED = (
    _park(
        "NO_ERROR _PARTITION_EOF _FS _UNKNOWN_GROUP _EXISTING_SUBSCRIPTION _ASSIGN_PARTITIONS _REVOKE_PARTITIONS"
        " _CONFLICT _NOT_IMPLEMENTED _NO_OFFSET _KEY_SERIALIZATION _VALUE_SERIALIZATION _KEY_DESERIALIZATION"
        " _VALUE_DESERIALIZATION _READ_ONLY _NOENT _INVALID_TYPE _MAX_POLL_EXCEEDED _NOT_CONFIGURED _APPLICATION"
        " _ASSIGNMENT_LOST _NOOP _AUTO_OFFSET_RESET _LOG_TRUNCATION OFFSET_OUT_OF_RANGE STALE_CTRL_EPOCH"
        " OFFSET_METADATA_TOO_LARGE ILLEGAL_GENERATION INCONSISTENT_GROUP_PROTOCOL INVALID_GROUP_ID UNKNOWN_MEMBER_ID"
        " INVALID_SESSION_TIMEOUT REBALANCE_IN_PROGRESS INVALID_COMMIT_OFFSET_SIZE GROUP_AUTHORIZATION_FAILED"
        " TOPIC_ALREADY_EXISTS INVALID_REPLICA_ASSIGNMENT INVALID_CONFIG NOT_CONTROLLER INVALID_TRANSACTION_TIMEOUT"
        " CONCURRENT_TRANSACTIONS TRANSACTION_COORDINATOR_FENCED TRANSACTIONAL_ID_AUTHORIZATION_FAILED"
        " OPERATION_NOT_ATTEMPTED REASSIGNMENT_IN_PROGRESS DELEGATION_TOKEN_AUTH_DISABLED DELEGATION_TOKEN_NOT_FOUND"
        " DELEGATION_TOKEN_OWNER_MISMATCH DELEGATION_TOKEN_REQUEST_NOT_ALLOWED DELEGATION_TOKEN_AUTHORIZATION_FAILED"
        " INVALID_PRINCIPAL_TYPE NON_EMPTY_GROUP GROUP_ID_NOT_FOUND FETCH_SESSION_ID_NOT_FOUND"
        " INVALID_FETCH_SESSION_EPOCH TOPIC_DELETION_DISABLED STALE_BROKER_EPOCH OFFSET_NOT_AVAILABLE"
        " MEMBER_ID_REQUIRED GROUP_MAX_SIZE_REACHED FENCED_INSTANCE_ID ELECTION_NOT_NEEDED NO_REASSIGNMENT_IN_PROGRESS"
        " GROUP_SUBSCRIBED_TO_TOPIC UNSTABLE_OFFSET_COMMIT RESOURCE_NOT_FOUND DUPLICATE_RESOURCE"
        " UNACCEPTABLE_CREDENTIAL INCONSISTENT_VOTER_SET INVALID_UPDATE_VERSION FEATURE_UPDATE_FAILED"
        " FENCED_MEMBER_EPOCH UNRELEASED_INSTANCE_ID UNSUPPORTED_ASSIGNOR STALE_MEMBER_EPOCH"
        " MISMATCHED_ENDPOINT_TYPE UNSUPPORTED_ENDPOINT_TYPE UNKNOWN_CONTROLLER_ID UNKNOWN_SUBSCRIPTION_ID"
        " TELEMETRY_TOO_LARGE INVALID_REGISTRATION INVALID_RECORD_STATE SHARE_SESSION_NOT_FOUND"
        " INVALID_SHARE_SESSION_EPOCH FENCED_STATE_EPOCH INVALID_VOTER_KEY DUPLICATE_VOTER VOTER_NOT_FOUND"
        " INVALID_REGULAR_EXPRESSION STREAMS_INVALID_TOPOLOGY STREAMS_INVALID_TOPOLOGY_EPOCH STREAMS_TOPOLOGY_FENCED"
        " SHARE_SESSION_LIMIT_REACHED",
        "unexpected: no producer gets this code; see the broker's log for this time, and report it",
    ),
)

TABLE: tuple[Row, ...] = (*_RECORD, *_BATCH, *_TOPIC, *_CLUSTER, *_PRODUCER, *_UNEXPECTED)

_UNKNOWN_CODE = _park(
    "", "this version of cdc-relay does not know the code: see librdkafka's release notes and the broker's log"
)


def _by_code() -> Iterator[tuple[str, Row]]:
    for row in TABLE:
        for code in row.codes:
            yield code, row


_ROWS = dict(_by_code())


def judge(code: str, reason: str, *, was_alone: bool = False) -> Failure:
    """`was_alone`: the record had a batch of its own, so a verdict on its batch is one on the record: it is parked."""
    _, scope, action, error_class, remedy = _ROWS.get(code, _UNKNOWN_CODE)
    if was_alone and scope is Scope.BATCH:
        scope, action = Scope.RECORD, Action.PARK
    return Failure(code, reason, remedy, error_class, scope, action)
