"""Every failure has a decision: scope, action, class and a remedy that an operator can follow."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from confluent_kafka import KafkaError

from cdc_relay.cli.failure_reference import EXAMPLES, reference
from cdc_relay.delivery.failures import (
    CRASH,
    NOT_ACKNOWLEDGED,
    QUEUE_TOO_SMALL,
    TABLE,
    TOO_LARGE_FOR_PRODUCER,
    Row,
    judge,
)
from cdc_relay.model import Action, ErrorClass, Scope
from cdc_relay.routing import refusals

OUR_OWN = {CRASH, NOT_ACKNOWLEDGED, QUEUE_TOO_SMALL, TOO_LARGE_FOR_PRODUCER}
DECIDED = Counter(code for row in TABLE for code in row.codes)

# Codes of the table that the oldest confluent-kafka we support (2.6.0) does not have yet.
SINCE_2_6 = {
    *("_DESTROY_BROKER", "INCONSISTENT_TOPIC_ID", "TRANSACTION_ABORTABLE", "REBOOTSTRAP_REQUIRED"),
    *("MISMATCHED_ENDPOINT_TYPE", "UNSUPPORTED_ENDPOINT_TYPE", "UNKNOWN_CONTROLLER_ID", "INVALID_REGISTRATION"),
    *("INVALID_RECORD_STATE", "SHARE_SESSION_NOT_FOUND", "INVALID_SHARE_SESSION_EPOCH", "FENCED_STATE_EPOCH"),
    *("INVALID_VOTER_KEY", "DUPLICATE_VOTER", "VOTER_NOT_FOUND", "INVALID_REGULAR_EXPRESSION"),
    *("STREAMS_INVALID_TOPOLOGY", "STREAMS_INVALID_TOPOLOGY_EPOCH", "STREAMS_TOPOLOGY_FENCED"),
    "SHARE_SESSION_LIMIT_REACHED",
}


def codes_of_the_library() -> set[str]:
    numbers = (getattr(KafkaError, name) for name in dir(KafkaError) if not name.startswith("__"))
    return {KafkaError(number).name() for number in numbers if isinstance(number, int)}


def test_every_code_of_librdkafka_has_a_decision() -> None:
    assert codes_of_the_library() - DECIDED.keys() == set()


def test_no_code_has_two_decisions() -> None:
    assert [code for code, count in DECIDED.items() if count > 1] == []


def test_every_decision_is_about_a_code_that_exists() -> None:
    assert DECIDED.keys() - codes_of_the_library() - OUR_OWN <= SINCE_2_6


def test_our_own_codes_have_a_decision() -> None:
    assert DECIDED.keys() >= OUR_OWN


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.codes[0])
def test_scope_action_and_remedy_go_together(row: Row) -> None:
    actions = {
        Scope.RECORD: {Action.PARK},
        Scope.BATCH: {Action.RESEND, Action.RESEND_ALONE},
        Scope.TOPIC: {Action.CLOSE_TOPIC},
        Scope.CLUSTER: {Action.HOLD},
        Scope.PRODUCER: {Action.REBUILD},
    }
    assert row.action in actions[row.scope]
    assert len(row.remedy) > 20


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.codes[0])
def test_only_a_record_can_be_at_fault_for_good(row: Row) -> None:
    """What is wrong with a topic, a cluster or a producer never makes a record dead."""
    assert row.error_class is ErrorClass.TRANSIENT or row.scope in (Scope.RECORD, Scope.BATCH)


@pytest.mark.parametrize(
    ("code", "scope", "action", "error_class"),
    [
        ("too_large_for_producer", Scope.RECORD, Action.PARK, ErrorClass.PERMANENT),
        ("queue_too_small", Scope.RECORD, Action.PARK, ErrorClass.TRANSIENT),
        ("crash", Scope.RECORD, Action.PARK, ErrorClass.CRASH),
        ("TOPIC_EXCEPTION", Scope.RECORD, Action.PARK, ErrorClass.PERMANENT),
        ("MSG_SIZE_TOO_LARGE", Scope.BATCH, Action.RESEND_ALONE, ErrorClass.TRANSIENT),
        ("INVALID_RECORD", Scope.BATCH, Action.RESEND_ALONE, ErrorClass.PERMANENT),
        ("_INVALID_DIFFERENT_RECORD", Scope.BATCH, Action.RESEND, ErrorClass.TRANSIENT),
        ("UNKNOWN_TOPIC_OR_PART", Scope.TOPIC, Action.CLOSE_TOPIC, ErrorClass.TRANSIENT),
        ("TOPIC_AUTHORIZATION_FAILED", Scope.TOPIC, Action.CLOSE_TOPIC, ErrorClass.TRANSIENT),
        ("NOT_ENOUGH_REPLICAS", Scope.TOPIC, Action.CLOSE_TOPIC, ErrorClass.TRANSIENT),
        ("not_acknowledged", Scope.TOPIC, Action.CLOSE_TOPIC, ErrorClass.TRANSIENT),
        ("_TRANSPORT", Scope.CLUSTER, Action.HOLD, ErrorClass.TRANSIENT),
        ("_MSG_TIMED_OUT", Scope.CLUSTER, Action.HOLD, ErrorClass.TRANSIENT),
        ("_AUTHENTICATION", Scope.CLUSTER, Action.HOLD, ErrorClass.TRANSIENT),
        ("_FATAL", Scope.PRODUCER, Action.REBUILD, ErrorClass.TRANSIENT),
    ],
)
def test_what_the_design_decided(code: str, scope: Scope, action: Action, error_class: ErrorClass) -> None:
    failure = judge(code, "why")
    assert (failure.scope, failure.action, failure.error_class) == (scope, action, error_class)
    assert (failure.code, failure.reason) == (code, "why")


def test_a_code_of_a_newer_librdkafka_parks_the_record_and_says_so() -> None:
    failure = judge("BRAND_NEW", "why")
    assert (failure.scope, failure.action, failure.error_class) == (Scope.RECORD, Action.PARK, ErrorClass.TRANSIENT)
    known = "this version of cdc-relay does not know the code: see librdkafka's release notes and the broker's log"
    assert failure.remedy == known


@pytest.mark.parametrize("code", ["MSG_SIZE_TOO_LARGE", "INVALID_RECORD", "_INVALID_DIFFERENT_RECORD"])
def test_a_verdict_on_a_batch_of_one_is_a_verdict_on_the_record(code: str) -> None:
    failure = judge(code, "why", was_alone=True)
    assert (failure.scope, failure.action) == (Scope.RECORD, Action.PARK)
    assert failure.error_class is judge(code, "why").error_class


@pytest.mark.parametrize("code", ["UNKNOWN_TOPIC_OR_PART", "_TRANSPORT", "_FATAL"])
def test_to_be_alone_changes_nothing_for_a_wider_failure(code: str) -> None:
    assert judge(code, "why", was_alone=True) == judge(code, "why")


def test_every_refusal_of_routing_is_in_the_docs() -> None:
    assert len({each.code for each in EXAMPLES}) == len(EXAMPLES) == len(refusals.__all__)


def test_the_table_in_docs_is_this_one() -> None:
    written = (Path(__file__).parents[2] / "docs" / "failures.md").read_text()
    assert written.endswith(f"\n{reference()}"), (
        "put the output of python -m cdc_relay.cli.failure_reference at its end"
    )
