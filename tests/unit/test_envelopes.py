"""Envelopes raw and native, and what holds for all of them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdc_relay.model import ErrorClass, Failure, Transaction
from cdc_relay.routing.envelopes.cloudevents import CloudEvents
from cdc_relay.routing.envelopes.debezium import Debezium, PlacedField
from cdc_relay.routing.envelopes.envelope import Envelope, Source
from cdc_relay.routing.envelopes.native import Native
from cdc_relay.routing.envelopes.raw import Raw
from cdc_relay.routing.json_text import is_json
from tests.unit.envelope_rows import BYTEA, INT4, JSON, OUTBOX, TEXT, TIMESTAMPTZ, Cells, encode, encoded, refused

ALL: list[Envelope] = [
    Raw(),
    Native(),
    CloudEvents(),
    CloudEvents("structured"),
    CloudEvents("structured", content_type="application/json"),
    Debezium(),
    Debezium(expand_json=True, tombstone_on_empty=True),
    Debezium(True, (PlacedField("type", "header", "t"), PlacedField("type", "envelope", "t"))),
]
FULL = replace(
    OUTBOX,
    correlation_column="correlation",
    causation_column="causation",
    tenant_column="tenant",
    timestamp_column="at",
    version_column="version",
)
MORE: Cells = dict.fromkeys(("correlation", "causation", "tenant", "at", "version"))
ANY_BYTES = st.binary(max_size=20) | st.text(max_size=10).map(lambda text: text.encode("utf-8", "replace"))


# --- all envelopes


@pytest.mark.parametrize("envelope", ALL, ids=str)
@given(
    st.sampled_from([TEXT, BYTEA, INT4, TIMESTAMPTZ, 1009, 99_999]),
    st.lists(ANY_BYTES | st.none(), min_size=4, max_size=4),
)
def test_any_row_is_encoded_or_refused_for_good(envelope: Envelope, oid: int, values: list[bytes | None]) -> None:
    event_id, kind, payload, key = values
    outcome = encode(envelope, {"id": (TEXT, event_id), "type": (TEXT, kind), "payload": (oid, payload)}, key=key)
    if isinstance(outcome, Failure):
        assert outcome.error_class is ErrorClass.PERMANENT
        assert outcome.remedy
    else:
        assert all(isinstance(name, str) for name, _ in outcome.headers)


@pytest.mark.parametrize("envelope", ALL, ids=str)
def test_headers_of_one_record_are_not_those_of_the_next(envelope: Envelope) -> None:
    """The route appends its own to the list."""
    first, again = (encoded(envelope)[1] for _ in range(2))
    assert first == again
    assert first is not again


@pytest.mark.parametrize("envelope", [Raw(), Debezium(), Debezium(expand_json=True), CloudEvents()], ids=str)
def test_a_bytea_payload_passes_as_its_bytes(envelope: Envelope) -> None:
    assert encoded(envelope, {"payload": (BYTEA, b"\\x00ff")})[0] == b"\x00\xff"
    assert encoded(envelope, {"payload": (BYTEA, b"\\x")})[0] == b""
    assert encoded(envelope, {"payload": (BYTEA, None)})[0] is None
    assert refused(envelope, {"payload": (BYTEA, b"\\xzz")})[0] == "bad_bytea"


# --- raw


@given(st.binary() | st.none())
def test_raw_is_the_payload_and_nothing_else(payload: bytes | None) -> None:
    assert encoded(Raw(), {"payload": (TEXT, payload)}) == (payload, [])


# --- native


def test_native_tells_all_that_is_known() -> None:
    value, headers = encoded(
        Native(),
        {
            "id": b'e"1"',
            "payload": (JSON, b'{"a":1, "a" : 2.00}'),
            "correlation": b"c1",
            "causation": b"c0",
            "tenant": b"acme",
            "at": (TIMESTAMPTZ, b"2026-01-02 03:04:05+00"),
            "version": (INT4, b"2"),
        },
        outbox=FULL,
    )
    assert value == (
        b'{"id":"e\\"1\\"","type":"Placed","source":"public.outbox","key":"k1","occurred_at":"2026-01-02T03:04:05Z"'
        b',"committed_at":"2026-01-02T03:04:05.123456Z","lsn":"0/16B3748","xid":777,"position":3'
        b',"correlation_id":"c1","causation_id":"c0","tenant":"acme","schema_version":2'
        b',"payload":{"a":1, "a" : 2.00}}'
    )
    assert headers == [("id", b'e"1"'), ("type", b"Placed"), ("content-type", b"application/json")]


def test_native_has_every_member_also_where_nothing_is_mapped() -> None:
    assert encoded(Native(), MORE, outbox=FULL) == encoded(Native())
    assert json.loads(encoded(Native(), {"payload": None}, key=None)[0] or b"")["payload"] is None


def test_native_identifiers_are_strings_whatever_their_column_is() -> None:
    cells: Cells = {**MORE, "id": (20, b"17"), "tenant": (INT4, b"4")}
    value = json.loads(encoded(Native(), cells, outbox=FULL)[0] or b"")
    assert (value["id"], value["tenant"]) == ("17", "4")


def test_native_tells_the_transaction_of_each_row() -> None:
    envelope = Native()
    later = Source(Transaction(commit_lsn=1 << 32, commit_time_us=1, xid=778), 0)
    outcome = encode(envelope, source=later)
    assert not isinstance(outcome, Failure)
    value = json.loads(outcome.value or b"")
    assert (value["lsn"], value["xid"], value["position"]) == ("1/0", 778, 0)
    assert value["committed_at"] == "1970-01-01T00:00:00.000001Z"


def test_native_tells_no_commit_of_a_message_that_did_not_wait_for_one() -> None:
    outcome = encode(Native(), source=Source(Transaction(commit_lsn=9, commit_time_us=0, xid=0), 0))
    assert not isinstance(outcome, Failure)
    value = json.loads(outcome.value or b"")
    assert (value["committed_at"], value["xid"], value["lsn"]) == (None, None, "0/9")


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_native_is_json_for_any_text(text: str) -> None:
    value, _ = encoded(Native(), {"type": text.encode(), "payload": (TEXT, text.encode())}, key=text.encode())
    assert is_json(value or b"")
    assert json.loads(value or b"")["payload"] == text


@pytest.mark.parametrize("column", ["id", "type", "payload"])
def test_native_names_the_column_that_json_cannot_say(column: str) -> None:
    code, reason = refused(Native(), {column: (TEXT, b"\xff")})
    assert (code, f"column {column} " in reason) == ("bad_value", True)


def test_native_refuses_a_key_that_is_not_utf_8() -> None:
    assert refused(Native(), key=b"\xff")[0] == "bad_key"
