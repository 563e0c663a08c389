"""What cannot be published is refused before it is written, by name of the field and never with its value."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdc_relay.outbox import EventError, Outbox
from cdc_relay.outbox.rows import to_message, to_row
from tests.unit.producer_rig import event, payload_of, row_of

SECRET = "hunter2"
NESTED: list[object] = []
NESTED.append(NESTED)


class Status(StrEnum):
    PAID = "paid"


# --- texts


@pytest.mark.parametrize("field", ["aggregatetype", "key", "type"])
@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "is missing or empty"),
        ("", "is missing or empty"),
        (4711, "is of type int; expected text"),
        (UUID(int=1), "is of type UUID; expected text"),
        (f"{SECRET}\0", "has a NUL character"),
        (f"{SECRET}\ud83d", "has half of a surrogate pair"),
    ],
)
def test_a_text_that_must_be_there_is_checked(field: str, value: object, said: str) -> None:
    assert refusal(**{field: value}).startswith(f"{field} {said}")


@pytest.mark.parametrize("value", ["", 7, "\0", "\udfff"])
def test_a_correlation_id_is_text_or_left_out(value: object) -> None:
    assert refusal(correlation_id=value).startswith("correlation_id ")


def test_an_id_is_a_uuid() -> None:
    assert refusal(id="6f1c3a52-8d9e-4b7a-9c61-0d2f4e5a7b80").startswith("id is of type str")


# --- JSON


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (float("nan"), "payload is NaN or infinite"),
        ({"a": [1, {"b": float("-inf")}]}, "payload.a[1].b is NaN or infinite"),
        ({"a": Decimal("NaN")}, "payload.a is NaN or infinite"),
        ({"a": Decimal("sNaN")}, "payload.a is NaN or infinite"),
        ({1: "one"}, "payload has a key that is no str but int"),
        ({"a": {None: 1}}, "payload.a has a key that is no str but NoneType"),
        ({"a": f"{SECRET}\0"}, "payload.a has a NUL character"),
        ({f"{SECRET}\0": 1}, "a key in payload has a NUL character"),
        (["x", f"{SECRET}\ud800"], "payload[1] has half of a surrogate pair"),
        ({f"{SECRET} and more": object()}, "payload.… is a object, for which JSON has no form"),
        ({"a": {SECRET}}, "payload.a is a set, for which JSON has no form"),
        ({"a": SECRET.encode()}, "payload.a is a bytes, for which JSON has no form"),
        ({"at": datetime(2026, 1, 1)}, "payload.at is a datetime without an offset from UTC"),
        ({"at": time(12)}, "payload.at is a time without an offset from UTC"),
        ({"at": time(12, tzinfo=ZoneInfo("Europe/Vienna"))}, "payload.at is a time without an offset from UTC"),
        ({"n": 10**1001}, "payload.n has more than 1,000 digits"),
        (NESTED, "payload is nested too deep, or contains itself"),
        (SECRET, "payload is no JSON"),
        ("", "payload is no JSON"),
        (b"\xff\xfe", "payload is no JSON"),
        ('{"a": NaN}', "payload is no JSON"),
        ('{"a": 1} {}', "payload is no JSON"),
        (r'{"a": ["\u0000"]}', "payload.a[0] has a NUL character"),
        (r'"\ud83d"', "payload has half of a surrogate pair"),
        ("[" * 100_000, "payload is nested too deep"),
        ('{"a": [1, 1e400000]}', "payload has a number of more than 131,072 digits before the point"),
    ],
)
def test_a_payload_that_is_no_json_is_refused(value: object, said: str) -> None:
    assert refusal(payload=value).startswith(said)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("x", "headers is of type str; expected a mapping"),
        ([("a", "b")], "headers is of type list; expected a mapping"),
        ({b"a": "b"}, "headers has a key that is no str but bytes"),
        ({"a": "\0"}, "headers.a has a NUL character"),
    ],
)
def test_headers_are_checked_like_the_payload(value: object, said: str) -> None:
    assert refusal(headers=value).startswith(said)


def test_types_with_one_obvious_text_are_that_text() -> None:
    given = {
        "uuid": UUID(int=1),
        "day": date(2026, 1, 31),
        "at": datetime(2026, 1, 31, 8, 0, 0, 5, tzinfo=timezone(timedelta(hours=2))),
        "clock": time(8, tzinfo=UTC),
        "total": Decimal("99.90"),
        "huge": Decimal("1E+400"),
        "status": Status.PAID,
        "pair": (1, 2),
    }
    assert payload_of(given) == {
        "uuid": "00000000-0000-0000-0000-000000000001",
        "day": "2026-01-31",
        "at": "2026-01-31T08:00:00.000005+02:00",
        "clock": "08:00:00+00:00",
        "total": "99.90",
        "huge": "1E+400",
        "status": "paid",
        "pair": [1, 2],
    }


@pytest.mark.parametrize(
    "text", ['{"a":1.10,  "a":2}', "1e400", "9" * 5000, '"text"', "null", r'"\ud83d\ude00"', r'"\\u0000"']
)
@pytest.mark.parametrize("encoded", [False, True])
def test_serialised_json_is_passed_on_as_it_is(text: str, encoded: bool) -> None:
    assert row_of(payload=text.encode() if encoded else text)["payload"] == text


def test_an_event_that_is_printed_shows_no_values() -> None:
    shown = repr(event(payload={"a": SECRET}, headers={"a": SECRET}, extra={"a": SECRET}))
    assert "key='k'" in shown and SECRET not in shown


def test_no_payload_is_null_and_not_the_word() -> None:
    assert row_of(payload=None)["payload"] is None


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**50), 10**50)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), inner, max_size=4)
    ),
    max_leaves=20,
)


@settings(deadline=None)
@given(JSON.filter(lambda value: not isinstance(value, str) and value is not None))
def test_whatever_json_can_say_arrives(value: object) -> None:
    assert payload_of(value) == value


@settings(deadline=None)
@given(st.text() | st.binary())
def test_text_is_json_or_one_kind_of_error(text: str | bytes) -> None:
    try:
        written = row_of(payload=text)["payload"]
    except EventError:
        return
    assert json.loads(str(written)) == json.loads(text)


# --- times


@pytest.mark.parametrize("value", [datetime(2026, 1, 1), date(2026, 1, 1), "2026-01-01T00:00:00Z", 0])
def test_a_time_without_a_zone_is_no_time(value: object) -> None:
    assert refusal(scheduled_at=value).startswith("scheduled_at is no datetime with a zone")


def test_a_time_at_the_end_of_the_calendar_is_refused() -> None:
    assert "scheduled_at" in refusal(scheduled_at=datetime.max.replace(tzinfo=timezone(timedelta(hours=-2))))


def test_a_scheduled_time_is_written_in_utc() -> None:
    given = datetime(2026, 1, 31, 8, 0, tzinfo=timezone(timedelta(hours=2)))
    assert row_of(scheduled_at=given)["scheduled_at"] == datetime(2026, 1, 31, 6, 0, tzinfo=UTC)


# --- columns


def test_what_an_event_leaves_out_is_not_written() -> None:
    assert list(row_of()) == ["id", "aggregatetype", "aggregateid", "type", "payload"]
    assert set(row_of(correlation_id="c", headers={}, scheduled_at=datetime.now(UTC))) - set(row_of()) == {
        "correlation_id",
        "headers",
        "scheduled_at",
    }


def test_further_columns_are_named_as_in_sql_and_must_be_further() -> None:
    written = row_of(extra={"Tenant_Id": "acme", '"Tenant Id"': 7})
    assert (written["tenant_id"], written["Tenant Id"]) == ("acme", 7)
    assert refusal(extra={"AggregateId": "x"}) == "extra has the column aggregateid, which the event fills already"


def test_a_message_has_the_columns_as_fields_and_json_inside_json() -> None:
    given = event(payload={"a": "é"}, headers={"h": None}, correlation_id="c\n", extra={"tenant": "acme"})
    at = datetime(2026, 1, 31, 8, 0, tzinfo=UTC)
    content = to_message(event(id=given.id, scheduled_at=at, payload=given.payload), Outbox(columns={"key": "k"}))
    assert json.loads(content) == {
        "id": str(given.id),
        "aggregatetype": "order",
        "k": "k",
        "type": "T",
        "payload": {"a": "é"},
        "scheduled_at": "2026-01-31T08:00:00+00:00",
    }
    more = json.loads(to_message(given, Outbox()))
    assert (more["headers"], more["correlation_id"], more["tenant"]) == ({"h": None}, "c\n", "acme")


def refusal(**changed: Any) -> str:
    """The same for rows and for messages, and without the value."""
    said = []
    for make in (to_row, to_message):
        with pytest.raises(EventError) as refused:
            make(event(**changed), Outbox())
        said.append(str(refused.value))
    assert said[0] == said[1]
    assert SECRET not in said[0]
    return said[0]
