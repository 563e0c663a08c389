"""The compiled build of usual CloudEvents says what the reference says, byte for byte, of every row."""

from __future__ import annotations

from dataclasses import replace
from struct import pack
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdc_relay.delivery.intake import Intake
from cdc_relay.delivery.outcome import Outcome
from cdc_relay.delivery.twins import Window
from cdc_relay.delivery.window import Window as PureWindow
from cdc_relay.model import Policy, Record
from cdc_relay.native import is_native
from cdc_relay.protocol.messages import Column
from cdc_relay.routing.envelopes.cloudevents import CloudEvents
from cdc_relay.routing.fields import Values
from cdc_relay.routing.outbox import DEFAULT_ROUTE, Outbox, Route
from cdc_relay.routing.places import Places
from cdc_relay.routing.router import Router
from cdc_relay.routing.templates import Template
from cdc_relay.routing.usual_events import make_event_build

pytestmark = pytest.mark.skipif(not is_native, reason="nothing is compiled here")

COLUMNS = {"id": 2950, "aggregatetype": 25, "aggregateid": 25, "type": 25, "payload": 3802, "tenant": 25, "due": 1184}
USUAL: Values = (b"e1", b"order", b"k1", b"Placed", b'{"n": 1.10}', b"acme", None)
EVENTS = Route(Template.parse("events.{aggregatetype}"), Policy("events"), envelope=CloudEvents())
STRUCTURED = replace(EVENTS, envelope=CloudEvents("structured"))
OUTBOX = replace(
    Outbox("public", "outbox", "public.outbox", "id", "aggregateid", "type", "payload", routes=(EVENTS,)),
    tenant_column="tenant",
)
TIMED = replace(OUTBOX, schedule_column="due")
COMMIT_US = 800_000_000_000_000

texts = st.one_of(
    st.sampled_from([None, b"", b"a", b"\x1f", b"\x20", b"\x7e", b"\x7f", b"\xff", "Zoë".encode(), b"\xc2\x85"]),
    st.text(max_size=5).map(lambda text: text.encode("utf-8", "surrogatepass")),
)
rows = st.tuples(texts, texts, texts, texts, texts, texts, st.none())


def frame(message: bytes) -> bytes:
    return b"w" + pack(">QQq", 100, 100, COMMIT_US) + message


def describe() -> bytes:
    named = b"".join(b"\0" + name.encode() + b"\0" + pack(">Ii", oid, -1) for name, oid in COLUMNS.items())
    return frame(b"R" + pack(">I", 1) + b"public\0outbox\0d" + pack(">H", len(COLUMNS)) + named)


def insert(row: Values) -> bytes:
    cells = (b"n" if value is None else b"t" + pack(">i", len(value)) + value for value in row)
    return frame(b"I" + pack(">I", 1) + b"N" + pack(">H", len(row)) + b"".join(cells))


def take_all(outbox: Outbox, given_rows: list[Values], *, pure: bool, commit_us: int = COMMIT_US) -> list[object]:
    """Twice, because the first row of a kind is routed by Python, which then knows where such rows go."""
    window = (PureWindow if pure else Window)(record_limit=1000, byte_limit=1 << 30)
    take = Intake(Router([outbox]), window).take
    take(frame(b"B" + pack(">QqI", 0xABC, commit_us, 7)))
    take(describe())
    return [_plain(take(insert(row))) for row in given_rows * 2] + [window.record_count, window.byte_count]


def _plain(outcome: Outcome | None) -> object:
    """Without the transaction, which each intake has its own of."""
    assert outcome is not None
    routed, ticket = outcome
    headers = ticket.find_headers()
    if isinstance(routed, Record):
        assert headers == routed.headers
    return routed, ticket[1], ticket.origin.label, ticket._replace(headers=headers)[3:]


def both(outbox: Outbox, *given_rows: Values, commit_us: int = COMMIT_US) -> list[object]:
    native = take_all(outbox, list(given_rows), pure=False, commit_us=commit_us)
    assert native == take_all(outbox, list(given_rows), pure=True, commit_us=commit_us)
    return native


modes = pytest.mark.parametrize("route", [EVENTS, STRUCTURED], ids=["binary", "structured"])


@modes
@given(given_rows=st.lists(rows, min_size=1, max_size=4))
def test_any_row_becomes_the_same_record_or_the_same_refusal(route: Route, given_rows: list[Values]) -> None:
    both(replace(OUTBOX, routes=(route,)), *given_rows)


@pytest.mark.parametrize("mode", ["binary", "structured"])
@given(row=rows)
def test_so_it_does_on_a_strict_route_with_a_subject(mode: Literal["binary", "structured"], row: Values) -> None:
    events = replace(EVENTS, policy=Policy("events", strict=True), envelope=CloudEvents(mode, subject="aggregatetype"))
    both(replace(OUTBOX, routes=(events,)), row, USUAL)


@pytest.mark.parametrize("mode", ["binary", "structured"])
@pytest.mark.parametrize(
    "options",
    [{"source": '/a"b\\'}, {"content_type": 'application/json; v="1"'}, {"subject": "due"}],
    ids=["source", "content type", "subject"],
)
def test_texts_that_must_be_escaped(mode: Literal["binary", "structured"], options: dict[str, str]) -> None:
    events = replace(EVENTS, envelope=CloudEvents(mode, **options))
    both(replace(OUTBOX, routes=(events,)), USUAL)


@modes
def test_every_attribute_that_a_row_may_have(route: Route) -> None:
    more = {"correlation_column": "due", "causation_column": "aggregatetype", "version_column": "type"}
    both(replace(OUTBOX, routes=(route,), **more), USUAL, (*USUAL[:-1], b"c-1"))  # type: ignore[arg-type]  # all text


@pytest.mark.parametrize("column", range(len(USUAL)))
@pytest.mark.parametrize(
    "value",
    [None, b"", b"\0", b"\x80", b"x" * 70_000, b'a"b', b"a\\b", "ë".encode(), "ë".encode() * 600_000],
    ids=["null", "empty", "nul", "bad", "long", "quote", "backslash", "letter", "megabyte"],
)
@modes
def test_one_unusual_value(route: Route, column: int, value: bytes | None) -> None:
    both(replace(OUTBOX, routes=(route,)), USUAL, (*USUAL[:column], value, *USUAL[column + 1 :]), USUAL)


@pytest.mark.parametrize("due", [b"2020-01-01 00:00:00+00", b"2099-01-01 00:00:00+00", b"infinity", b"", None])
@pytest.mark.parametrize(
    "routes", [(EVENTS,), (STRUCTURED,), (DEFAULT_ROUTE,)], ids=["binary", "structured", "default"]
)
def test_a_row_that_says_when_it_is_due_is_asked(due: bytes | None, routes: tuple[Route, ...]) -> None:
    both(replace(TIMED, routes=routes), USUAL, (*USUAL[:-1], due), USUAL)


EPOCH_US = 946_684_800_000_000  # of Postgres
MOMENTS = [-EPOCH_US, -EPOCH_US - 1, -1, 0, 1, 999_999, 1_000_000, 252_455_615_999_999_999, 252_455_616_000_000_000]


@pytest.mark.parametrize("commit_us", MOMENTS)
@modes
def test_a_commit_at_an_unusual_time(route: Route, commit_us: int) -> None:
    """1970, just before it, the seconds around 2000, and the end of the calendar."""
    both(replace(OUTBOX, routes=(route,)), USUAL, commit_us=commit_us)


@modes
@given(moments=st.lists(st.integers(min_value=0, max_value=3_000_000), min_size=2, max_size=6))
def test_commits_within_a_few_seconds(route: Route, moments: list[int]) -> None:
    for moment in moments:
        both(replace(OUTBOX, routes=(route,)), USUAL, commit_us=COMMIT_US + moment)


@modes
def test_the_usual_row_is_the_compiled_ones(route: Route) -> None:
    """Else the tests above would compare Python with itself."""
    from cdc_relay.native.ledger import Transaction

    described = tuple(Column(name, oid, -1, False) for name, oid in COLUMNS.items())
    transaction = Transaction(commit_lsn=0xABC, commit_time_us=1_767_323_045_123_456, xid=7)

    build = make_event_build(_never, route, OUTBOX, Places(described))
    assert build is not None
    record = build(USUAL, "t", transaction, 3, 7)
    assert isinstance(record, Record)
    assert b"0000000000000ABC-00000003" in (dict(record.headers).get("ce_sequence") or record.value or b"")


@pytest.mark.parametrize(("oid", "content_type"), [(25, None), (17, None), (3802, "application/avro")])
def test_a_structured_payload_that_must_be_written_anew_is_pythons(oid: int, content_type: str | None) -> None:
    described = tuple(Column(name, oid if name == "payload" else 25, -1, False) for name in COLUMNS)
    events = replace(STRUCTURED, envelope=CloudEvents("structured", content_type=content_type))
    assert make_event_build(_never, events, OUTBOX, Places(described)) is None


@pytest.mark.parametrize("columns", [{}, {"correlation_column": "tenant"}], ids=["tenant", "one column twice"])
def test_headers_are_recalled_from_the_ticket(columns: dict[str, str]) -> None:
    """Of the second row: the first one's were kept, for it was routed by Python."""
    window = Window(record_limit=10, byte_limit=1 << 30)
    take = Intake(Router([replace(OUTBOX, **columns)]), window).take  # type: ignore[arg-type]  # all text
    take(describe())
    taken = []
    for lsn in (0xABC, 0xDEF):
        frames = (frame(b"B" + pack(">QqI", lsn, COMMIT_US + lsn, 7)), insert(USUAL), insert(USUAL))
        taken += [outcome for each in frames if (outcome := take(each)) is not None]
        take(frame(b"C" + pack(">BQQq", 0, lsn, lsn + 1, COMMIT_US + lsn)))
    for record, ticket in taken[1:]:
        assert isinstance(record, Record)
        assert not isinstance(ticket.headers, list)
        assert ticket.find_headers() == record.headers


def test_headers_of_columns_that_no_ticket_has_are_kept() -> None:
    events = replace(EVENTS, envelope=CloudEvents(subject="aggregatetype"))
    described = tuple(Column(name, oid, -1, False) for name, oid in COLUMNS.items())
    build = make_event_build(_never, events, replace(OUTBOX, routes=(events,)), Places(described))
    assert build is not None
    assert not build.can_recall  # type: ignore[attr-defined]  # a compiled one has it


def _never(*_: object) -> Record:
    raise AssertionError("the reference was asked")
