"""The SDK's checks of JSON against a real jsonb: which numbers it takes, and how many bytes it prints."""

from __future__ import annotations

import json

import psycopg
import pytest

from cdc_relay.outbox import Event, EventError, emit
from cdc_relay.outbox.json_text import to_json
from cdc_relay.outbox.jsonb import count_printed_bytes
from tests.fixtures.database import Database
from tests.integration.producer_rig import create_table

PRINTED = "SELECT octet_length(%s::jsonb::text)"
TAKEN = [
    "1e131071",
    "9" * 131_072,
    "0.00001e131076",
    "1e-16383",
    "0e-16383",
    "0e400000",
    "0." + "1" * 16_383,
    "-1.50e1",
    "12.5e-3",
    "1E+5",
    "1e00000000005",
    "-0.0",
]
REFUSED = [
    "1e400000",
    "1e131072",
    "-" + "9" * 131_073,
    "0.1e131073",
    "1e-16384",
    "0e-16384",
    "0." + "0" * 16_384,
    "1e" + "9" * 5000,
]
VALUES: list[object] = [
    {"a": [1.5e-7, 1e16, 5e-324, -1.7976931348623157e308, 0.1, 10**40], "b": {"c": "d, e: f"}},
    ['\x01\x1f\x7f\b\f\n\r\t/\\"é😀\u2028', {}, [], None, True],
    [float(f"-1e{power}") for power in range(-30, 30)],
]


@pytest.mark.parametrize("number", TAKEN, ids=lambda text: text[:20])
def test_a_number_that_jsonb_takes_is_taken_and_counted_as_printed(database: Database, number: str) -> None:
    [(printed,)] = database.execute(PRINTED, [to_json(number, "payload")])
    assert count_printed_bytes(number) == max(printed, len(number))


@pytest.mark.parametrize("number", REFUSED, ids=lambda text: text[:20])
def test_a_number_that_jsonb_refuses_is_refused_before_it_gets_there(database: Database, number: str) -> None:
    create_table(database)
    with pytest.raises(psycopg.Error, match=r"numeric|range"):
        database.execute(PRINTED, [number])
    with psycopg.connect(database.dsn()) as conn, pytest.raises(EventError, match="which jsonb refuses"):
        emit(conn, Event(aggregatetype="order", key="k", type="T", payload=number))


@pytest.mark.parametrize("value", VALUES, ids=["numbers", "strings", "floats"])
@pytest.mark.parametrize("separators", [None, (",", ":"), (", ", ":")], ids=["wide", "tight", "mixed"])
def test_the_bytes_of_a_document_are_those_that_jsonb_prints(
    database: Database, value: object, separators: tuple[str, str] | None
) -> None:
    text = json.dumps(value, separators=separators, ensure_ascii=False)
    assert [(count_printed_bytes(text),)] == database.execute(PRINTED, [text])
