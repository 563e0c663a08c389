"""Any row at all is a record that Kafka takes, or a failure that says what to do. Nothing else happens."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cdc_relay.model import Record
from cdc_relay.protocol.messages import Column, Relation
from cdc_relay.routing.parts import read_headers, read_partition, read_timestamp_ms
from tests.unit.hostile_corpus import COLUMNS, ENVELOPES, HOSTILE, HUGE, OIDS, SOUND, assert_settled, make_router

ROWS = st.tuples(*[HOSTILE] * len(COLUMNS))
TEXT_OID = 25


def settle(name: str, row: tuple[bytes | None, ...], oids: list[int]) -> object:
    described = tuple(Column(column, oid, -1, False) for column, oid in zip(COLUMNS, oids, strict=True))
    router = make_router(ENVELOPES[name])
    plan = router.plan(Relation(1, "public", "outbox", "d", described), now_us=lambda: 0)
    assert plan is not None
    return assert_settled(router, plan, row)


@pytest.mark.parametrize("name", ENVELOPES)
@settings(max_examples=300, deadline=None)
@given(row=ROWS, oids=st.lists(st.sampled_from(OIDS), min_size=len(COLUMNS), max_size=len(COLUMNS)))
@example(row=tuple(SOUND.values()), oids=[TEXT_OID] * len(COLUMNS))
def test_any_row_is_a_record_or_a_failure_that_says_what_to_do(
    name: str, row: tuple[bytes | None, ...], oids: list[int]
) -> None:
    settle(name, row, oids)


@pytest.mark.parametrize("name", ENVELOPES)
@settings(max_examples=300, deadline=None)
@given(column=st.sampled_from(COLUMNS), value=HOSTILE, oid=st.sampled_from(OIDS))
@example(column="extra", value=b'{"a\\u0000b": 1}', oid=TEXT_OID)
@example(column="part", value=b"0" * 11 + b"9" * 12, oid=TEXT_OID)
@example(column="at", value=b"0" * 11 + b"9" * 12, oid=TEXT_OID)
@example(column="at", value=b"9999999999999999", oid=20)
def test_so_is_a_sound_row_with_one_hostile_value(name: str, column: str, value: bytes | None, oid: int) -> None:
    """Where all values are hostile, the first one hides the others."""
    row = SOUND | {column: value}
    settle(name, tuple(row.values()), [oid if each == column else TEXT_OID for each in COLUMNS])


@pytest.mark.parametrize("name", ENVELOPES)
def test_a_sound_row_is_a_record(name: str) -> None:
    assert isinstance(settle(name, tuple(SOUND.values()), [TEXT_OID] * len(COLUMNS)), Record)


@pytest.mark.parametrize("huge", HUGE)
@pytest.mark.parametrize("name", ["placed", "native", "structured"])
def test_megabytes_in_any_column_do_no_harm(name: str, huge: str) -> None:
    for column in COLUMNS:
        settle(name, tuple((SOUND | {column: HUGE[huge]}).values()), [TEXT_OID] * len(COLUMNS))


@pytest.mark.parametrize("huge", HUGE)
@pytest.mark.parametrize("oid", [17, 20, 114, 1009, 1184, 99_999])
def test_megabytes_in_a_payload_of_any_type_do_no_harm(oid: int, huge: str) -> None:
    oids = [oid if column == "payload" else TEXT_OID for column in COLUMNS]
    for name in ENVELOPES:
        settle(name, tuple((SOUND | {"payload": HUGE[huge]}).values()), oids)


# --- numbers and names


@pytest.mark.parametrize("read", [read_partition, read_timestamp_ms])
@given(digits=st.from_regex(rb"\A0{0,30}[0-9]{1,30}\Z"))
@example(digits=b"0" * 11 + b"9" * 12)
@example(digits=b"9999999999999999")
def test_digits_are_the_number_that_they_spell_or_refused(read: Callable[[bytes], int], digits: bytes) -> None:
    with suppress(ValueError):
        assert read(digits) == int(digits)


@pytest.mark.parametrize("read", [read_partition, read_timestamp_ms])
def test_more_digits_than_python_counts_are_refused(read: Callable[[bytes], int]) -> None:
    with pytest.raises(ValueError, match=r"no partition|no time that Kafka knows"):
        read(b"9" * 5000)


@pytest.mark.parametrize("digits", [b"0", b"0000000007", b"2147483647"])
def test_a_partition_may_have_zeros_before_it(digits: bytes) -> None:
    assert read_partition(digits) == int(digits)


@pytest.mark.parametrize("name", ["a\\u0000b", "\\u0000", "\\ud800"])
def test_a_header_name_that_would_not_arrive_whole_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no JSON object of names"):
        read_headers(b'{"good": 1, "%s": "x"}' % name.encode())
