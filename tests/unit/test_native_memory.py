"""What the compiled twins make is whole, and goes when the last one lets go of it. Counted, not timed."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cdc_relay.delivery.intake import Intake
from cdc_relay.model import Record, Ticket
from cdc_relay.routing.router import Router
from tests.unit import frames
from tests.unit.intake_rig import OUTBOX, ROW, feed
from tests.unit.native_frames import OUTBOXES
from tests.unit.native_rig import NATIVE, needs_native

pytestmark = needs_native

PAGE_KIB = 4
JSONB = 3802
LATER_US = frames.EPOCH_US + 1_000_000
OPENING = (frames.begin(101), frames.relation())


def make_intake(name: str = "default") -> Intake:
    assert NATIVE is not None
    router = Router([OUTBOXES[name]])
    return Intake(router, NATIVE.window(record_limit=10, byte_limit=1000), ceiling_lsn=1 << 63)


def taken(intake: Intake) -> tuple[Record, Ticket]:
    [(record, ticket)] = feed(intake, frames.insert(*ROW))
    assert isinstance(record, Record)
    return record, ticket


def resident_kib() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_KIB


def growth_kib(act: Callable[[int], object], count: int) -> int:
    """Between the first tenth, which fills the caches, and the end."""
    for number in range(count // 10):
        act(number)
    gc.collect()
    before, objects = resident_kib(), len(gc.get_objects())
    for number in range(count // 10, count):
        act(number)
    gc.collect()
    assert len(gc.get_objects()) - objects < 100
    return resident_kib() - before


MORE_COLUMNS: dict[str, dict[str, bytes | None]] = {
    "scheduled": {"due": None},
    "cloudevents": {"tenant": b"acme"},
    "cloudevents, structured": {"tenant": b"acme"},
}


@pytest.mark.parametrize("name", ["default", "several routes", "one topic", *MORE_COLUMNS])
def test_many_frames_leave_nothing_behind(name: str) -> None:
    """A leak of one small object per row would be 16 MB at least."""
    intake = make_intake(name)
    more = MORE_COLUMNS.get(name, {})
    row = frames.insert(*ROW, *more.values())
    intake.take(frames.relation(columns=(*frames.OUTBOX_COLUMNS, *more), type_oid=JSONB))

    def act(number: int) -> None:
        lsn = 1000 + 10 * number
        taken = feed(intake, frames.begin(lsn, time_us=LATER_US), row, row, frames.commit(lsn + 5))
        for routed, ticket in taken:
            assert isinstance(routed, Record)
            assert ticket.find_headers() == routed.headers
        intake.settle_all([ticket for _, ticket in taken])

    assert growth_kib(act, 250_000) < 4096
    assert (intake.window.record_count, intake.ledger.oldest) == (0, None)


def test_frames_that_are_refused_leave_nothing_behind() -> None:
    intake = make_intake()
    feed(intake, *OPENING)
    bad = frames.insert(*ROW)[:-1]

    def act(_: int) -> None:
        with pytest.raises(Exception, match="Insert"):
            intake.take(bad)

    assert growth_kib(act, 50_000) < 4096


def test_a_record_and_its_ticket_are_what_their_constructors_make() -> None:
    intake = make_intake()
    feed(intake, *OPENING)
    record, ticket = taken(intake)
    assert record == Record(*record)
    assert ticket == Ticket(*ticket)
    assert (type(record), type(ticket)) == (Record, Ticket)
    assert isinstance(record, tuple)
    assert record._replace(topic="else") == Record("else", *record[1:])
    assert ticket._replace(ordinal=5).ordinal == 5
    assert record._asdict()["partition"] == -1
    assert pickle.loads(pickle.dumps(record)) == record
    assert copy.deepcopy(record) == record
    assert copy.copy(ticket) == ticket
    assert (len(record), len(ticket), repr(record)) == (8, 8, repr(Record(*record)))
    assert hash(record._replace(headers=())) == hash(Record(*record)._replace(headers=()))  # type: ignore[arg-type]  # hashable for once
    assert gc.is_tracked(record)
    assert gc.is_tracked(ticket)


def test_every_part_is_held_once_by_whom_it_belongs_to() -> None:
    intake = make_intake()
    feed(intake, *OPENING, frames.insert(*ROW))  # the first of a kind is routed by Python
    record, ticket = taken(intake)
    counts = [sys.getrefcount(record), sys.getrefcount(ticket)]
    assert counts == [2, 2]  # the name, and the argument
    counts = [sys.getrefcount(part) - 2 for part in (record.key, record.value, record.headers, ticket.event)]
    assert counts == [2, 2, 2, 2]  # its tuple and the one here; the ticket recalls its headers
    kinds = [sys.getrefcount(Record), sys.getrefcount(Ticket)]
    more = [taken(intake) for _ in range(1000)]
    assert [sys.getrefcount(Record), sys.getrefcount(Ticket)] == [kinds[0] + 1000, kinds[1] + 1000]
    policy = record.policy
    held = sys.getrefcount(policy)
    del more
    freed = held - sys.getrefcount(policy)
    assert ([sys.getrefcount(Record), sys.getrefcount(Ticket)], freed) == (kinds, 2000)


def test_an_intake_that_is_over_goes_with_all_it_had() -> None:
    """It and its lane hold each other: the collector must see both."""
    gc.collect()
    before = sum(type(each) is Intake for each in gc.get_objects())
    for _ in range(10):
        intake = make_intake()
        feed(intake, *OPENING, frames.insert(*ROW))
    del intake
    gc.collect()
    assert sum(type(each) is Intake for each in gc.get_objects()) == before


def test_a_row_s_bytes_are_its_own() -> None:
    """The frame goes at once: nothing may point into it."""
    intake = make_intake()
    feed(intake, *OPENING)
    frame = bytes(bytearray(frames.insert(*ROW)))
    count = sys.getrefcount(frame)
    outcome = intake.take(frame)
    assert outcome is not None
    assert sys.getrefcount(frame) == count
    del frame
    assert outcome[0][1:3] == (b"k1", b'{"n": 1.10}')
    assert OUTBOX.label == outcome[1].origin.label
