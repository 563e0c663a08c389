"""The compiled way through an intake says and does what Python's does, frame by frame, whatever the bytes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit import frames
from tests.unit.intake_rig import ROW
from tests.unit.native_frames import COLUMNS, MESSAGES, OUTBOXES, Step, steps
from tests.unit.native_pair import Pair
from tests.unit.native_rig import needs_native
from tests.unit.native_stream import EPOCH_US, PARKED, Stream

pytestmark = needs_native

Row = tuple[bytes | None, ...]


@settings(max_examples=1500, deadline=None)
@given(
    name=st.sampled_from(sorted(OUTBOXES)),
    is_parked=st.booleans(),
    opened=st.sampled_from([(), (COLUMNS, ROW + (None,) * 3), (frames.OUTBOX_COLUMNS, ROW)]),
    played=steps(),
)
def test_both_say_and_do_the_same(
    name: str, is_parked: bool, opened: tuple[tuple[str, ...], Row] | tuple[()], played: list[tuple[Step, Step | None]]
) -> None:
    """`opened`: a row was taken already, so that its route is known; chance alone finds its like too seldom."""
    stream = Stream(Pair([OUTBOXES[name], MESSAGES], PARKED if is_parked else frozenset()))
    if opened:
        columns, row = opened
        for frame in (frames.begin(100), frames.relation(columns=columns), *[frames.insert(*row)] * 3):
            stream.pair.take(frame)
    for step, damage in played:
        stream.play(step, damage)


GOOD = {
    "begin": frames.begin(200, time_us=EPOCH_US + 1_500, sent_us=EPOCH_US + 2_000),
    "insert": frames.insert(*ROW),
    "insert with NULLs": frames.insert(b"e1", b"order", None, None, None),
    "insert of a route that is not known yet": frames.insert(b"e1", b"new", b"k1", b"T", b"{}"),
    "commit": frames.commit(300, time_us=EPOCH_US + 1_500, sent_us=EPOCH_US + 2_000),
    "relation": frames.relation(),
    "keepalive": frames.keepalive(900, reply=True),
    "message": frames.message(b"{}", lsn=250, transactional=True),
}
OPENING = (frames.begin(101), frames.relation(), frames.insert(*ROW))
SPOILERS = b"\0\1\2\x7f\x80\xfftnubNKOIBCUwkx"


def make_opened(name: str, good: str) -> Pair:
    pair = Pair([OUTBOXES[name], MESSAGES])
    for frame in OPENING:
        pair.take(frame)
    if good == "begin":
        pair.take(frames.commit(110))
    return pair


@pytest.mark.parametrize("good", GOOD)
@pytest.mark.parametrize("name", ["default", "several routes", "one topic"])
def test_every_part_of_a_frame_is_refused_or_taken_alike(name: str, good: str) -> None:
    frame = GOOD[good]
    for size in range(len(frame)):
        make_opened(name, good).take(frame[:size])
    for more in (b"\0", b"n", b"t", b"\0\0"):
        make_opened(name, good).take(frame + more)


@pytest.mark.parametrize("good", GOOD)
def test_every_byte_may_be_another(good: str) -> None:
    frame = GOOD[good]
    for place in range(len(frame)):
        for value in {*SPOILERS, frame[place] ^ 1, frame[place] ^ 0x80} - {frame[place]}:
            pair = make_opened("default", good)
            pair.take(frame[:place] + bytes([value]) + frame[place + 1 :])
            pair.take(GOOD["insert"])  # whatever it was: what comes after it is taken alike


@pytest.mark.parametrize("name", sorted(OUTBOXES))
def test_a_view_of_a_frame_is_taken_like_its_bytes(name: str) -> None:
    pair = Pair([OUTBOXES[name], MESSAGES])
    for frame in (*OPENING, GOOD["insert"], GOOD["commit"]):
        pair.take(memoryview(frame))


def test_usual_frames_are_not_left_to_python() -> None:
    """Or the other tests would compare Python's way with itself."""
    pair = Pair([OUTBOXES["default"]])
    pair.take(frames.begin(101))
    pair.take(frames.relation())
    assert pair.handed_on_count == 1
    for number in range(3):
        pair.take(frames.insert(*ROW))
        pair.take(frames.commit(110 + 10 * number))
        pair.take(frames.begin(111 + 10 * number))
    assert pair.handed_on_count == 1


def test_parked_records_leave_the_stream_to_python_until_they_are_passed() -> None:
    pair = Pair([OUTBOXES["default"]], frozenset({("public.outbox", 101, 0, EPOCH_US)}))
    for frame in (*OPENING, frames.commit(110)):
        assert pair.take(frame) == ("did", None)
    assert pair.handed_on_count == len(OPENING) + 1 - 1  # a Begin alone has nothing to do with it
    pair.take(frames.begin(120))
    told = pair.take(frames.insert(*ROW))
    assert told is not None
    assert (told[1] is None, pair.handed_on_count) == (False, len(OPENING))


def test_a_relation_that_changes_is_seen_by_the_next_row() -> None:
    pair = Pair([OUTBOXES["default"]])
    turned = tuple(reversed(frames.OUTBOX_COLUMNS))
    pair.take(frames.begin(101))
    for columns, row in ((frames.OUTBOX_COLUMNS, ROW), (turned, tuple(reversed(ROW)))):
        pair.take(frames.relation(columns=columns))
        pair.take(frames.insert(*row))
        pair.take(frames.insert(*row))
    assert {ticket.event[0] for ticket, _ in pair.open} == {b"e1"}


def test_two_relations_take_turns() -> None:
    other = OUTBOXES["several routes"]
    pair = Pair([OUTBOXES["default"], replace(other, name="other", label="public.other")])
    pair.take(frames.begin(101))
    pair.take(frames.relation(1))
    pair.take(frames.relation(2, name="other"))
    for number in range(20):
        pair.take(frames.insert(*ROW, relation_id=1 + number % 2))
    assert pair.handed_on_count == 2


@pytest.mark.parametrize("count", [255, 256, 257, 400])
def test_a_row_of_very_many_columns_is_taken_alike(count: int) -> None:
    names = tuple(f"c{number}" for number in range(count - 5))
    pair = Pair([OUTBOXES["default"]])
    pair.take(frames.begin(101))
    pair.take(frames.relation(columns=(*names, *frames.OUTBOX_COLUMNS)))
    pair.take(frames.insert(*(b"x" for _ in names), *ROW))
    assert [ticket.event[0] for ticket, _ in pair.open] == [b"e1"]


def test_more_topics_than_are_remembered_are_all_found() -> None:
    pair = Pair([OUTBOXES["default"]])
    for frame in OPENING:
        pair.take(frame)
    for number in (*range(10_050), 0, 1, 10_049):
        told = pair.take(frames.insert(b"e1", str(number).encode(), b"k1", b"T", b"{}"))
        assert pair.open[-1][1].topic == f"outbox.event.{number}", told
        pair.settle(-1)
