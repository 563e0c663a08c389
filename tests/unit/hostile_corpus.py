"""Values that nobody should write to an outbox, routes that look at all of them, and what must become of each row.

A row is a record that Kafka takes, or a failure that says what to do; and either of them can be parked.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace

from hypothesis import strategies as st

from cdc_relay.model import Policy, Record, Scheduled, Ticket, Transaction, Unroutable
from cdc_relay.parking.entry import Entry, Reason, Status
from cdc_relay.parking.rows import ENTRY_FIELDS, entry_row
from cdc_relay.parking.values import read_columns, read_headers
from cdc_relay.routing.conditions import Exact, Glob, Not
from cdc_relay.routing.envelopes.cloudevents import CloudEvents
from cdc_relay.routing.envelopes.debezium import Debezium, PlacedField
from cdc_relay.routing.envelopes.envelope import Envelope
from cdc_relay.routing.envelopes.native import Native
from cdc_relay.routing.envelopes.raw import Raw
from cdc_relay.routing.fields import Field
from cdc_relay.routing.router import AnyPlan, Outbox, Route, Router, Values
from cdc_relay.routing.schedule import parse_due
from cdc_relay.routing.templates import Template
from cdc_relay.sources.line import Param

__all__ = ["COLUMNS", "ENVELOPES", "HOSTILE", "HUGE", "JSON_VALUES", "OIDS", "SOUND", "TRANSACTION"]
__all__ += ["assert_settled", "make_router"]

COLUMNS = ("id", "aggregatetype", "aggregateid", "type", "payload", "tenant", "part", "at", "extra", "due")
SOUND: dict[str, bytes | None] = {
    "id": b"1",
    "aggregatetype": b"a",
    "aggregateid": b"k",
    "type": b"T",
    "payload": b'{"a": {"b": "c"}}',
    "tenant": b"t",
    "part": b"1",
    "at": b"0",
    "extra": b'{"h": "x"}',
    "due": None,
}
ENVELOPES: dict[str, Envelope] = {
    "debezium": Debezium(),
    "expanded": Debezium(expand_json=True, tombstone_on_empty=True),
    "placed": Debezium(fields=(PlacedField("tenant", "header", "t"), PlacedField("at", "envelope", "when"))),
    "native": Native(),
    "binary": CloudEvents(),
    "structured": CloudEvents("structured"),
    "raw": Raw(),
}
OIDS = [16, 17, 20, 25, 114, 1007, 1009, 1082, 1114, 1184, 1186, 1700, 2950, 3802, 99_999]
TRANSACTION = Transaction(commit_lsn=0x16B3748, commit_time_us=1_700_000_000_000_000, xid=7)

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
_NUMBERS = [b"0" * 11 + b"9" * 12, b"9999999999999999", b"0" * 30, b"2147483648", b"9224318016000", b"9" * 5000, b"-0"]
_JSON = [b'{"a": {"b": 1e400}}', b'{"a": NaN}', b"{" * 5000, b'"\\ud800"', b'{"a\\u0000b": "\\u0000"}', b'{"": ""}']
_WORDS = [b"", b".", b"..", b"a" * 250, b"a/b", b"null", b"{}", b"[]", b"NaN", b"infinity", b"\\x", b"\\xzz", b"t"]
# pgoutput's text is UTF-8 without NUL, but nothing here may rely on it
HOSTILE = st.one_of(
    st.none(),
    st.binary(max_size=300),
    st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.sampled_from([*_NUMBERS, *_JSON, *_WORDS, b'{1,NULL,"x"}', b"294276-12-31 23:59:59+00", b"0001-01-01 00:00:00"]),
    st.from_regex(rb"\A0{0,15}[0-9]{1,25}\Z"),
    JSON_VALUES.map(lambda value: json.dumps(value).encode("utf-8", "surrogatepass")),
)
_MANY = 1 << 20
HUGE: dict[str, bytes] = {
    "text": b"x" * (3 * _MANY),
    "text of two bytes each": "ä".encode() * (2 * _MANY) + b"x",
    "no text": b"\xff" * (3 * _MANY),
    "number": b"9" * (3 * _MANY),
    "zeros": b"0" * (3 * _MANY),
    "exponent": b"1e" + b"9" * (3 * _MANY),
    "bytes": b"\\x" + b"00" * (2 * _MANY),
    "nested arrays": b"[" * _MANY + b"]" * _MANY,
    "nested objects": b'{"a":' * _MANY + b"1" + b"}" * _MANY,
    "nested array literal": b"{" * _MANY + b"}" * _MANY,
    "long string": b'{"a": {"b": "' + b"x" * (3 * _MANY) + b'"}}',
    "many fields": b"{" + b", ".join(b'"k%d": %d' % (n, n) for n in range(30_000)) + b"}",
}
_LAST_TIMESTAMP_US = 9_223_371_331_200_000_000  # where a timestamptz ends, counted from 2000


def make_router(envelope: Envelope, *, message_prefix: str | None = None) -> Router:
    """One outbox whose routes look at every column, and whose mapping has all that there is."""
    routes = (
        Route(
            Template.parse("a.{payload.a.b}.{tenant}"),
            Policy("placed", strict=True),
            when=((Field("aggregatetype"), Glob("a*")), (Field("payload", ("a",)), Not(Exact(b"1")))),
            key=Template.parse("{tenant}/{payload.a}"),
            partition=Template.parse("{part}"),
            timestamp=Template.parse("{at}"),
            headers=(("x", Template.parse("{extra}-{id}")),),
            envelope=envelope,
        ),
        Route(Template.parse("{aggregatetype}"), Policy("named"), envelope=envelope),
    )
    outbox = Outbox("public", "outbox", "public.outbox", "id", "aggregateid", "type", "payload", routes=routes)
    mapped = replace(
        outbox, headers_column="extra", schedule_column="due", timestamp_column="at", tenant_column="tenant"
    )
    return Router([replace(mapped, message_prefix=message_prefix)])


def assert_settled(router: Router, plan: AnyPlan, row: Values) -> Record | Unroutable:
    """Routed, and what came out is fit for Kafka or the lot; a retry from the lot fails no worse."""
    routed = plan.route(row, TRANSACTION, 0, 7)
    assert isinstance(routed, Record | Scheduled | Unroutable)
    _assert_can_be_parked(_make_entry(plan, row, routed))
    if isinstance(routed, Unroutable):
        assert all([routed.failure.code, routed.failure.reason, routed.failure.remedy])
        assert [column.value for column in routed.columns] == list(row)
        again = router.route_columns(plan.origin.label, routed.columns, TRANSACTION, 0)
        assert isinstance(again, Record | Unroutable)
        return routed
    record = routed.record if isinstance(routed, Scheduled) else routed
    _assert_kafka_takes(record)
    return record


def _assert_kafka_takes(record: Record) -> None:
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,249}", record.topic, re.ASCII)
    assert record.topic not in (".", "..")
    assert record.timestamp_ms >= 0
    assert -1 <= record.partition < 2**31
    for part in (record.key, record.value, *(value for _, value in record.headers)):
        assert part is None or type(part) is bytes
    for header, _ in record.headers:
        assert type(header) is str
        assert "\0" not in header  # the client would cut it there
        header.encode()
    sizes = [len(record.key or b""), len(record.value or b"")]
    sizes += [len(header) + len(value or b"") for header, value in record.headers]
    assert record.size_bytes == sum(sizes)


def _make_entry(plan: AnyPlan, row: Values, routed: Record | Scheduled | Unroutable) -> Entry:
    """As the entrance makes it."""
    event = plan.event(row)
    if isinstance(routed, Unroutable):
        ticket = Ticket(TRANSACTION, 0, plan.origin, sum(map(len, filter(None, row))), event, [], "", routed.policy)
        failure, columns, _, key, value = routed
        return Entry(ticket, Status.DEAD, Reason.FAILURE, None, failure, columns, key, value)
    record, scheduled_at = routed if isinstance(routed, Scheduled) else (routed, None)
    ticket = Ticket(TRANSACTION, 0, plan.origin, record.size_bytes, event, record.headers, record.topic, record.policy)
    return Entry(ticket, Status.BEHIND, Reason.BEHIND, record, scheduled_at=scheduled_at)


def _assert_can_be_parked(entry: Entry) -> None:
    for is_utf8 in (True, False):
        fields = dict(zip(ENTRY_FIELDS, entry_row(entry, is_utf8=is_utf8), strict=True))
        for text in (value for value in fields.values() if isinstance(value, str)):
            assert "\0" not in text
            text.encode("utf-8" if is_utf8 else "ascii")
        _assert_times_are_known(fields)
        _assert_comes_back(entry, fields, is_utf8=is_utf8)


def _assert_times_are_known(fields: dict[str, Param]) -> None:
    for name in ("commit_time", "record_time"):
        time = fields[name]
        assert isinstance(time, bytes)
        assert int.from_bytes(time, "big", signed=True) < _LAST_TIMESTAMP_US
    due = fields["scheduled_at"]
    assert due is None or (isinstance(due, str) and parse_due(due.encode()) is not None)


def _assert_comes_back(entry: Entry, fields: dict[str, Param], *, is_utf8: bool) -> None:
    columns, headers = fields["columns"], fields["headers"]
    assert isinstance(headers, bytes)
    assert b"\\u0000" not in headers.replace(b"\\\\", b"")  # jsonb refuses it
    kept = entry.ticket.find_headers()
    if is_utf8 or all(name.isascii() for name, _ in kept):
        assert read_headers(headers[1:]) == kept
    assert (columns is None) == (entry.columns is None)
    if isinstance(columns, bytes):
        assert read_columns(columns) == entry.columns
