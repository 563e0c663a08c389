"""Envelope debezium, by its options. Compared with a real Debezium in tests/compare."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdc_relay.protocol.messages import Column
from cdc_relay.routing.envelopes.debezium import Debezium, PlacedField
from cdc_relay.routing.envelopes.debezium_values import as_header, as_member
from tests.unit.envelope_rows import BYTEA, INT4, JSON, JSONB, TEXT, encoded, refused

EXPANDED = Debezium(expand_json=True)
TOMBSTONES = Debezium(tombstone_on_empty=True)
DATE, TIME, TIMETZ, TIMESTAMP, TIMESTAMPTZ, BOOL, NUMERIC, TEXT_ARRAY = 1082, 1083, 1266, 1114, 1184, 16, 1700, 1009


def placed(*fields: tuple[str, str, str], expand_json: bool = False, tombstone_on_empty: bool = False) -> Debezium:
    given_fields = tuple(PlacedField(column, placement, alias) for column, placement, alias in fields)  # type: ignore[arg-type]  # short to write
    return Debezium(expand_json, given_fields, tombstone_on_empty)


ENVELOPED = placed(("type", "envelope", "eventType"))


@given(st.binary() | st.none(), st.binary() | st.none())
def test_the_default_is_the_payload_as_it_is_and_the_header_id(event_id: bytes | None, payload: bytes | None) -> None:
    assert encoded(Debezium(), {"id": event_id, "payload": payload}) == (payload, [("id", event_id)])


# --- expansion


@pytest.mark.parametrize("text", [b'{"a" : 1.0, "a":2}', b" [1e400]", b'"text"', b"42", b"null"])
@pytest.mark.parametrize("oid", [TEXT, 1043, JSON, JSONB, 99_999])
def test_expanded_json_is_the_same_text(text: bytes, oid: int) -> None:
    assert encoded(EXPANDED, {"payload": (oid, text)})[0] == text


@pytest.mark.parametrize("text", [b"", b" ", b"plain", b'{"a": 1', b"NaN", b"\xff"])
@pytest.mark.parametrize(
    "envelope", [EXPANDED, placed(("type", "envelope", "t"), expand_json=True)], ids=["bare", "inside"]
)
def test_text_that_is_no_json_cannot_be_expanded(text: bytes, envelope: Debezium) -> None:
    code, reason = refused(envelope, {"payload": (TEXT, text)})
    assert (code, "column payload" in reason) == ("bad_json", True)


@pytest.mark.parametrize(("oid", "printed"), [(INT4, b"1"), (BOOL, b"t"), (DATE, b"2026-01-02"), (TEXT_ARRAY, b"{a}")])
def test_only_text_is_expanded(oid: int, printed: bytes) -> None:
    assert encoded(EXPANDED, {"payload": (oid, printed)})[0] == printed


def test_null_is_no_json_to_expand() -> None:
    assert encoded(EXPANDED, {"payload": (TEXT, None)})[0] is None


# --- tombstones


@pytest.mark.parametrize("text", [None, b"", b" ", b"\t\n\x01\x1f"])
def test_an_empty_payload_may_be_a_tombstone(text: bytes | None) -> None:
    assert encoded(TOMBSTONES, {"payload": (TEXT, text)}) == (None, [("id", b"e1")])
    assert encoded(Debezium(True, (), True), {"payload": (TEXT, text)})[0] is None
    inside = placed(("type", "envelope", "t"), ("type", "header", "t"), tombstone_on_empty=True)
    assert encoded(inside, {"payload": (TEXT, text)}) == (None, [("id", b"e1"), ("t", b"Placed")])


@pytest.mark.parametrize("cell", [(TEXT, b"x"), (TEXT, "\u00a0".encode()), (JSONB, b"null"), (JSONB, b'""')])
def test_what_java_does_not_trim_away_is_no_tombstone(cell: tuple[int, bytes]) -> None:
    assert encoded(TOMBSTONES, {"payload": cell})[0] == cell[1]


def test_an_empty_bytea_is_no_tombstone() -> None:
    assert encoded(TOMBSTONES, {"payload": (BYTEA, b"\\x")})[0] == b""
    assert encoded(TOMBSTONES, {"payload": (BYTEA, None)})[0] is None


# --- fields


def test_headers_come_after_the_id_in_the_order_of_the_configuration() -> None:
    envelope = placed(("type", "header", "eventType"), ("tenant", "header", "tenant"))
    value, headers = encoded(envelope, {"tenant": None})
    assert value == b'{"n": 1.10}'
    assert headers == [("id", b"e1"), ("eventType", b"Placed"), ("tenant", None)]


def test_a_field_in_the_envelope_makes_the_value_an_object_with_the_payload_as_a_string() -> None:
    envelope = placed(("type", "envelope", 'event "type"'), ("rev", "envelope", "rev"))
    assert encoded(envelope, {"rev": (INT4, b"3")})[0] == (
        b'{"payload":"{\\"n\\": 1.10}","event \\"type\\"":"Placed","rev":3}'
    )


def test_an_expanded_payload_is_inside_as_it_is_written() -> None:
    envelope = placed(("type", "envelope", "t"), expand_json=True)
    for oid in (JSON, TEXT):
        cell = (oid, b'{"a":1,  "a":1.0}')
        assert encoded(envelope, {"payload": cell})[0] == b'{"payload":{"a":1,  "a":1.0},"t":"Placed"}'
    assert encoded(envelope, {"payload": None})[0] == b'{"payload":null,"t":"Placed"}'


def test_a_bytea_inside_is_base64() -> None:
    assert encoded(ENVELOPED, {"payload": (BYTEA, b"\\x00ff")})[0] == b'{"payload":"AP8=","eventType":"Placed"}'


@pytest.mark.parametrize(
    ("oid", "modifier", "printed", "member"),
    [
        (BOOL, -1, "f", "false"),
        (NUMERIC, -1, "1.50", "1.50"),
        (JSONB, -1, '{"a": 1}', '"{\\"a\\": 1}"'),
        (BYTEA, -1, "\\xff", '"/w=="'),
        (DATE, -1, "1970-01-02", "1"),
        (DATE, -1, "1969-12-31", "-1"),
        (DATE, -1, "0001-01-01 BC", "-719528"),
        (DATE, -1, "infinity", '"infinity"'),
        (TIME, -1, "00:00:01.5", "1500000"),
        (TIME, 3, "00:00:01.5", "1500"),
        (TIME, -1, "24:00:00", "86400000000"),
        (TIMETZ, -1, "03:04:05.5+02", '"01:04:05.5Z"'),
        (TIMETZ, -1, "00:30:00-05:30", '"06:00:00Z"'),
        (TIMETZ, -1, "24:00:00+00", '"24:00:00+00"'),
        (TIMESTAMP, -1, "1970-01-01 00:00:01.000001", "1000001"),
        (TIMESTAMP, 6, "1969-12-31 23:59:59.999999", "-1"),
        (TIMESTAMP, 3, "1970-01-01 00:00:01.5", "1500"),
        (TIMESTAMP, 0, "1970-01-01 00:00:01", "1000"),
        (TIMESTAMP, -1, "-infinity", '"-infinity"'),
        (TIMESTAMPTZ, -1, "2026-01-02 03:04:05+00", '"2026-01-02T03:04:05.000000Z"'),
        (TIMESTAMPTZ, -1, "2026-01-02 03:04:05.12+00", '"2026-01-02T03:04:05.120000Z"'),
        (TIMESTAMPTZ, 3, "2026-01-02 03:04:05.12+00", '"2026-01-02T03:04:05.120Z"'),
        (TIMESTAMPTZ, 0, "2026-01-02 03:04:05+00", '"2026-01-02T03:04:05Z"'),
        (TIMESTAMPTZ, -1, "infinity", '"infinity"'),
        (TEXT_ARRAY, -1, '{a,"b c",NULL}', '["a","b c",null]'),
        (1115, -1, '{"1970-01-01 00:00:01"}', "[1000000]"),
    ],
)
def test_a_field_looks_as_debezium_s_types_do(oid: int, modifier: int, printed: str, member: str) -> None:
    column = Column("c", oid, modifier, False)
    assert as_member(column)(printed.encode()) == member
    plain = json.loads(member) if member.startswith('"') else member
    assert as_header(column)(printed.encode()) == plain.encode()
    assert (as_member(column)(None), as_header(column)(None)) == ("null", None)


def test_a_name_is_in_the_envelope_once() -> None:
    with pytest.raises(ValueError, match="one payload only"):
        placed(("type", "envelope", "payload"))
    with pytest.raises(ValueError, match="one t only"):
        placed(("type", "envelope", "t"), ("id", "envelope", "t"))
    assert placed(("type", "header", "t"), ("type", "envelope", "t")).columns == ("type",)


# --- refusals


def test_the_column_that_cannot_be_said_is_named() -> None:
    assert refused(ENVELOPED, {"type": b"\xff"}) == refused(placed(("type", "envelope", "x")), {"type": b"\xff"})
    assert "column type " in refused(ENVELOPED, {"type": b"\xff"})[1]
    assert "column payload " in refused(ENVELOPED, {"payload": b"\xff"})[1]
    assert refused(ENVELOPED, {"payload": (BYTEA, b"\\xf")})[0] == "bad_bytea"
    assert refused(placed(("b", "header", "b")), {"b": (BYTEA, b"\\xf")})[0] == "bad_value"


def test_text_in_a_header_passes_whatever_its_bytes() -> None:
    assert encoded(placed(("type", "header", "t")), {"type": b"\xff"})[1][1] == ("t", b"\xff")
