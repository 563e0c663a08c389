"""A record's line: readable, one line, and nothing of the record is lost in it."""

from __future__ import annotations

import orjson
from hypothesis import example, given
from hypothesis import strategies as st

from cdc_relay.model import Headers, Policy, Record
from cdc_relay.sinks.log_line import write_line
from tests.contract.sinks import read_line

_BYTES = st.none() | st.binary() | st.text().map(str.encode)
_HEADERS = st.lists(st.tuples(st.text(), _BYTES))


def _record(key: bytes | None, value: bytes | None, headers: Headers, partition: int = -1) -> Record:
    return Record("orders", key, value, headers, 946_684_800_001, 0, Policy("orders"), partition)


@given(_BYTES, _BYTES, _HEADERS, st.integers(-1, 1000))
@example(b"\n\r\x00\xff", b'{"base64": "AA=="}', [("id", None), ("id", b""), ("", b"\xff")], 0)
@example(None, "\x85\u2028\u2029\N{GRINNING FACE}".encode(), [], -1)
def test_any_record_comes_out_of_its_line_as_it_was(
    key: bytes | None, value: bytes | None, headers: Headers, partition: int
) -> None:
    line = write_line(_record(key, value, headers, partition))
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert read_line(line) == ("orders", (key, value, headers, 946_684_800_001, partition))


def test_a_line_is_readable_where_the_record_is_text() -> None:
    line = write_line(_record(b"4711", '{"total": 9.90, "in": "€"}'.encode(), [("id", b"a"), ("none", None)]))
    assert line.decode() == (
        '{"topic":"orders","timestamp_ms":946684800001,"key":"4711",'
        '"headers":[{"name":"id","value":"a"},{"name":"none","value":null}],'
        '"value":"{\\"total\\": 9.90, \\"in\\": \\"€\\"}"}\n'
    )


def test_what_is_no_text_is_marked_and_a_named_partition_is_told() -> None:
    shown = orjson.loads(write_line(_record(b"\xff", b"\x00", [("id", b"\xfe")], partition=3)))
    assert (shown["key"], shown["value"], shown["partition"]) == ({"base64": "/w=="}, {"base64": "AA=="}, 3)
    assert shown["headers"] == [{"name": "id", "base64": "/g=="}]
