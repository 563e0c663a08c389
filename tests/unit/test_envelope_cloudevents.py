"""Envelope cloudevents, read back by the official SDK as a consumer would."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from cloudevents.core.base import BaseCloudEvent
from cloudevents.core.bindings.kafka import KafkaMessage, from_kafka
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent
from hypothesis import given
from hypothesis import strategies as st

from cdc_relay.model import Headers
from cdc_relay.routing.envelopes.attributes import default_source, rfc3339
from cdc_relay.routing.envelopes.cloudevents import CloudEvents
from tests.golden.corpus import CASES
from tests.golden.corpus import OUTBOX as GOLDEN_OUTBOX
from tests.golden.corpus import SOURCE as GOLDEN_SOURCE
from tests.unit.envelope_rows import BYTEA, INT4, JSONB, OUTBOX, TEXT, TIMESTAMPTZ, Cells, encoded, refused

BINARY, STRUCTURED = CloudEvents(), CloudEvents("structured")
BOTH = pytest.mark.parametrize("envelope", [BINARY, STRUCTURED], ids=["binary", "structured"])
FULL = replace(
    OUTBOX,
    correlation_column="correlation",
    causation_column="causation",
    tenant_column="tenant",
    timestamp_column="at",
    version_column="version",
)
CELLS: Cells = {
    "correlation": b"c1",
    "causation": b"c0",
    "tenant": "Zoë".encode(),
    "at": (TIMESTAMPTZ, b"2026-01-02 03:04:05.1+00"),
    "version": (INT4, b"2"),
}


def consume(record: tuple[bytes | None, Headers], *, key: bytes | None = b"k1") -> BaseCloudEvent:
    value, headers = record
    given_headers = {name: header for name, header in headers if header is not None}
    return from_kafka(KafkaMessage(given_headers, key, value or b""), JSONFormat(), CloudEvent)


@BOTH
def test_the_sdk_reads_every_attribute(envelope: CloudEvents) -> None:
    event = consume(encoded(replace(envelope, subject="aggregateid"), CELLS, outbox=FULL))
    assert {name: value for name, value in event.get_attributes().items() if value is not None} == {
        "specversion": "1.0",
        "id": "e1",
        "source": "/cdc-relay/public.outbox",
        "type": "Placed",
        "subject": "k1",
        "time": datetime(2026, 1, 2, 3, 4, 5, 100_000, UTC),
        "datacontenttype": "application/json",
        "correlationid": "c1",
        "causationid": "c0",
        "tenant": "Zoë",
        "schemaversion": "2",
        "sequence": "00000000016B3748-00000003",
        "partitionkey": "k1",
    }
    assert event.get_data() == {"n": 1.1}


@BOTH
def test_the_sdk_reads_every_case_of_the_corpus(envelope: CloudEvents) -> None:
    for case in CASES:
        outcome = envelope.bind(GOLDEN_OUTBOX, case.columns)(case.row, b"k-1", GOLDEN_SOURCE)
        value, headers = outcome[0], outcome[1]
        assert isinstance(headers, list), (case.name, outcome)
        assert value is None or isinstance(value, bytes)
        if value is not None:  # the SDK knows no tombstones
            assert consume((value, headers), key=b"k-1").get_id() == "6f1c3a52-8d9e-4b7a-9c61-0d2f4e5a7b80"


@BOTH
def test_what_is_null_or_empty_is_left_out(envelope: CloudEvents) -> None:
    cells: Cells = {**dict.fromkeys(CELLS), "tenant": b""}
    named = consume(encoded(envelope, cells, outbox=FULL, key=b""), key=None).get_attributes()
    assert not {"correlationid", "causationid", "tenant", "schemaversion", "partitionkey"} & set(named)


@BOTH
def test_names_are_lower_case_letters_and_digits_and_short(envelope: CloudEvents) -> None:
    names = consume(encoded(envelope, CELLS, outbox=FULL)).get_attributes()
    assert all(re.fullmatch("[a-z0-9]{1,20}", name) for name in names)


@BOTH
def test_without_a_timestamp_the_time_is_that_of_the_commit(envelope: CloudEvents) -> None:
    committed_at = datetime(2026, 1, 2, 3, 4, 5, 123_456, UTC)
    assert consume(encoded(envelope)).get_time() == committed_at
    assert consume(encoded(envelope, {**CELLS, "at": None}, outbox=FULL)).get_time() == committed_at


# --- data


def test_binary_data_are_the_payload_s_bytes() -> None:
    value, headers = encoded(BINARY, {"payload": (TEXT, b"\xff any")})
    assert (value, headers[-1]) == (b"\xff any", ("content-type", b"text/plain; charset=utf-8"))
    value, headers = encoded(BINARY, {"payload": (BYTEA, b"\\x00ff")})
    assert (value, headers[-1]) == (b"\x00\xff", ("content-type", b"application/octet-stream"))


def test_binary_without_a_payload_is_a_tombstone() -> None:
    value, headers = encoded(BINARY, {"payload": None})
    assert value is None
    assert "content-type" not in dict(headers)


@pytest.mark.parametrize(
    ("content_type", "cell", "data"),
    [
        (None, (JSONB, b'{"a": 1.0}'), b',"data":{"a": 1.0}}'),
        (None, (TEXT, b'{"a": 1.0}'), b',"data":"{\\"a\\": 1.0}"}'),
        (None, (BYTEA, b"\\x00ff"), b',"data_base64":"AP8="}'),
        ("application/vnd.shop+json; v=1", (TEXT, b'{"a": 1.0}'), b',"data":{"a": 1.0}}'),
        ("application/avro", (BYTEA, b"\\x00ff"), b',"data_base64":"AP8="}'),
        ("text/csv", (JSONB, b"1"), b',"data":"1"}'),
    ],
)
def test_structured_data_follow_the_content_type(
    content_type: str | None, cell: tuple[int, bytes], data: bytes
) -> None:
    value, headers = encoded(replace(STRUCTURED, content_type=content_type), {"payload": cell})
    assert (value or b"").endswith(data)
    assert headers == [("content-type", b"application/cloudevents+json; charset=UTF-8")]


def test_structured_without_a_payload_has_no_data() -> None:
    document = json.loads(encoded(STRUCTURED, {"payload": None})[0] or b"")
    assert not {"data", "data_base64", "datacontenttype"} & set(document)


def test_a_sequence_sorts_as_the_stream_does() -> None:
    headers = dict(encoded(BINARY)[1])
    assert headers["ce_sequence"] == b"00000000016B3748-00000003"


# --- source and time


def test_the_source_is_the_outbox_or_as_configured() -> None:
    assert dict(encoded(CloudEvents(source="https://shop/orders"))[1])["ce_source"] == b"https://shop/orders"
    assert default_source('public."Order Outbox"') == "/cdc-relay/public.%22Order%20Outbox%22"


@pytest.mark.parametrize("text", ["", "a b", "/shop\n", "/ö", "\ud800"])
def test_a_source_or_content_type_that_no_header_may_have_is_not_taken(text: str) -> None:
    with pytest.raises(ValueError, match="URI reference"):
        CloudEvents(source=text)
    with pytest.raises(ValueError, match="media type"):
        CloudEvents(content_type=text)


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        (b"2026-01-02 03:04:05.1+00", b"2026-01-02T03:04:05.1Z"),
        (b"2026-01-02 03:04:05", b"2026-01-02T03:04:05Z"),
        (b"2026-01-02T03:04:05+02:00", b"2026-01-02T03:04:05+02:00"),
        (b"2026-01-02T03:04:05Z", b"2026-01-02T03:04:05Z"),
        (b"0044-03-15 12:00:00+00 BC", None),
        (b"12026-01-02 03:04:05+00", None),
        (b"infinity", None),
        (b"2026-02-30 00:00:00", None),
        (b"2026-01-02 25:00:00", None),
        (b"0000-01-01 00:00:00", None),
        (b"today", None),
        (b"\xff", None),
    ],
)
def test_a_time_is_rfc_3339_or_none(printed: bytes, text: bytes | None) -> None:
    assert rfc3339(printed) == text


# --- refusals


@BOTH
@pytest.mark.parametrize("attribute", ["id", "type"])
@pytest.mark.parametrize("value", [None, b""])
def test_a_required_attribute_without_a_value_is_refused(
    envelope: CloudEvents, attribute: str, value: bytes | None
) -> None:
    code, reason = refused(envelope, {attribute: value})
    assert (code, f"column {attribute} " in reason) == ("missing_attribute", True)


@BOTH
@pytest.mark.parametrize("value", [b"a\nb", b"\x7f", "\x85".encode(), b"\xff"])
def test_an_attribute_with_control_characters_is_refused(envelope: CloudEvents, value: bytes) -> None:
    code, reason = refused(envelope, {**CELLS, "tenant": value}, outbox=FULL)
    assert (code, "column tenant " in reason) == ("bad_attribute", True)


@BOTH
def test_a_time_that_cannot_be_said_is_refused(envelope: CloudEvents) -> None:
    code, reason = refused(envelope, {**CELLS, "at": b"infinity"}, outbox=FULL)
    assert (code, "column at " in reason) == ("bad_event_time", True)


def test_structured_data_that_cannot_be_said_are_refused() -> None:
    assert refused(STRUCTURED, {"payload": (TEXT, b"\xff")})[0] == "bad_value"
    as_json = replace(STRUCTURED, content_type="application/json")
    assert refused(as_json, {"payload": (TEXT, b"plain")})[0] == "bad_json"


@BOTH
@given(st.binary(min_size=1))
def test_a_key_of_any_bytes_adds_no_attribute(envelope: CloudEvents, key: bytes) -> None:
    """The Kafka binding, 3.1: whoever takes the key from a setting must not add an attribute for it."""
    assert encoded(envelope, key=key) == encoded(envelope, key=None)


@BOTH
def test_the_sdk_reads_the_key_as_the_partition_key(envelope: CloudEvents) -> None:
    assert consume(encoded(envelope, key=b"k9"), key=b"k9").get_extension("partitionkey") == "k9"
