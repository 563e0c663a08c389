"""Any logical message of a table-less outbox, with routes that look into all of it, is a record or a failure."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cdc_relay.model import Record, Unroutable
from tests.unit.hostile_corpus import COLUMNS, ENVELOPES, HOSTILE, HUGE, JSON_VALUES, SOUND, assert_settled, make_router

FIELDS = JSON_VALUES | HOSTILE.map(lambda value: None if value is None else value.decode("utf-8", "surrogateescape"))
OBJECTS = st.fixed_dictionaries({}, optional=dict.fromkeys(COLUMNS, FIELDS))
SOUND_FIELDS: dict[str, object] = {
    **{name: None if value is None else value.decode() for name, value in SOUND.items()},
    "payload": {"a": {"b": "c"}},
    "extra": {"h": "x"},
    "part": 1,
    "at": 1_700_000_000_000,
}


def settle(name: str, content: bytes) -> Record | Unroutable:
    router = make_router(ENVELOPES[name], message_prefix="o")
    settled = assert_settled(router, router.plan_messages(now_us=lambda: 0)["o"], (content,))
    if isinstance(settled, Unroutable):
        assert [column.name for column in settled.columns] == ["content"]
    return settled


def encode(fields: dict[str, object]) -> bytes:
    return json.dumps(fields).encode()


@pytest.mark.parametrize("name", ENVELOPES)
@settings(max_examples=300, deadline=None)
@given(content=OBJECTS.map(encode) | st.binary(max_size=300) | HOSTILE.map(lambda value: value or b""))
@example(content=b"")
@example(content=b'{"id": 1, "id": 2, "type": NaN}')
def test_any_message_is_a_record_or_a_failure_that_keeps_it(name: str, content: bytes) -> None:
    settle(name, content)


@pytest.mark.parametrize("name", ENVELOPES)
@settings(max_examples=300, deadline=None)
@given(column=st.sampled_from(COLUMNS), value=FIELDS)
@example(column="extra", value={"a\0b": 1})
@example(column="part", value=9999999999999999)
@example(column="at", value="0" * 11 + "9" * 12)
@example(column="id", value="\0")
@example(column="tenant", value="\ud800")
def test_so_is_a_sound_message_with_one_hostile_field(name: str, column: str, value: object) -> None:
    settle(name, encode(SOUND_FIELDS | {column: value}))


@pytest.mark.parametrize("name", ENVELOPES)
def test_a_sound_message_is_a_record_with_every_part(name: str) -> None:
    record = settle(name, encode(SOUND_FIELDS))
    assert isinstance(record, Record)
    assert (record.topic, record.key, record.partition) == ("a.c.t", b't/{"b": "c"}', 1)
    assert record.timestamp_ms == 1_700_000_000_000
    assert record.headers[-2:] == [("h", b"x"), ("x", b'{"h": "x"}-1')]


@pytest.mark.parametrize("huge", HUGE)
def test_megabytes_as_content_or_as_any_field_do_no_harm(huge: str) -> None:
    settle("native", HUGE[huge])
    for column in COLUMNS:
        before, after = encode(SOUND_FIELDS | {column: "HERE"}).split(b'"HERE"')
        settle("native", before + HUGE[huge] + after)
        settle("structured", before + b'"' + HUGE[huge].replace(b"\\", b"").replace(b'"', b"") + b'"' + after)
