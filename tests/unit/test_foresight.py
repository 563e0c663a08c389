"""Which change a frame would bring is known before it is decoded, and it is the one that comes."""

from __future__ import annotations

from struct import pack

import pytest

from cdc_relay.delivery.foresight import begin_of
from cdc_relay.delivery.intake import Intake
from cdc_relay.errors import DecodeError
from cdc_relay.protocol.peek import MessageHead, peek
from cdc_relay.protocol.pgoutput import Decoder
from cdc_relay.routing.router import Outbox, Router
from tests.unit import frames
from tests.unit.intake_rig import OUTBOX, ROW, feed
from tests.unit.native_rig import Twins

PREFIX = Outbox("", "", "message prefix outbox", "id", "aggregateid", "type", "payload", message_prefix="outbox")
TIME_US = frames.EPOCH_US + 5_000
EMPTY = frames.xlog(b"")


def make_intake(twins: Twins) -> Intake:
    return Intake(Router([OUTBOX, PREFIX]), twins.window(record_limit=10, byte_limit=1000))


def opened(twins: Twins) -> Intake:
    """Within a transaction, with an outbox and a table that is none."""
    intake = make_intake(twins)
    feed(intake, frames.begin(90, time_us=TIME_US), frames.relation(1), frames.relation(2, name="audit"))
    return intake


@pytest.mark.parametrize("taken", [0, 1, 2])
def test_a_row_is_identified_by_its_place_in_the_transaction(taken: int, twins: Twins) -> None:
    intake = opened(twins)
    feed(intake, *[frames.insert(*ROW)] * taken)
    identity = intake.identify(frames.insert(*ROW))
    [(_, ticket)] = feed(intake, frames.insert(*ROW))
    assert identity == ticket.identity == ("public.outbox", 90, taken, TIME_US)


def test_a_message_within_a_transaction_is_identified_by_its_place_there(twins: Twins) -> None:
    intake = opened(twins)
    feed(intake, frames.insert(*ROW))
    assert intake.identify(frames.message(b"{}", lsn=80)) == ("message prefix outbox", 90, 1, TIME_US)


def test_a_message_outside_transactions_is_identified_by_where_its_record_begins(twins: Twins) -> None:
    frame = frames.message(b"{}", lsn=80, transactional=False)
    assert make_intake(twins).identify(frame) == ("message prefix outbox", 79, 0, 0)
    assert begin_of(80) == 79


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        EMPTY,
        frames.keepalive(95),
        b"k" + frames.insert(*ROW)[1:],
        frames.commit(100),
        frames.relation(1),
        frames.xlog(b"Y\2\0\0\0\0bytea\0"),  # no flags of a message
        frames.insert(*ROW, relation_id=2),
        frames.message(b"{}", prefix="else", lsn=80),
        frames.message(b"{}", prefix="else", lsn=80, transactional=False),
    ],
    ids=[
        *("nothing", "no message", "keepalive", "no data", "commit", "relation", "type"),
        *("table that is no outbox", "other prefix", "other prefix outside"),
    ],
)
def test_what_is_no_row_of_an_outbox_has_no_identity(frame: bytes, twins: Twins) -> None:
    assert opened(twins).identify(frame) is None


def test_a_row_outside_a_transaction_has_no_identity(twins: Twins) -> None:
    """To take it is an error, and that is where it is said."""
    intake = opened(twins)
    feed(intake, frames.commit(100))
    assert intake.identify(frames.insert(*ROW)) is None
    assert intake.identify(frames.message(b"{}", lsn=120)) is None


def test_a_row_of_a_table_that_was_never_described_is_refused_before_it_is_taken(twins: Twins) -> None:
    with pytest.raises(DecodeError, match="relation 7 was never described"):
        opened(twins).identify(frames.insert(*ROW, relation_id=7))


# --- the head alone


def test_the_head_of_an_insert_is_its_relation() -> None:
    assert peek(b"xxI" + pack(">I", 9) + b"whatever follows", 2) == 9


@pytest.mark.parametrize("transactional", [True, False])
def test_the_head_of_a_message_is_all_but_its_content(transactional: bool) -> None:
    head = b"M" + pack(">?Q", transactional, 80) + b"outbox\0"
    assert peek(b"xx" + head + b"whatever follows", 2) == MessageHead(transactional, 80, "outbox")


@pytest.mark.parametrize(
    "data",
    [
        *(b"I\x00\x00\x00\x09"[:size] for size in range(1, 5)),
        *((b"M\x01" + pack(">Q", 80) + b"out")[:size] for size in range(1, 13)),
        b"M\x02" + bytes(20),
        b"M\x01" + pack(">Q", 80) + b"\xff\0",
    ],
)
def test_a_head_is_refused_with_the_words_of_the_decoder(data: bytes) -> None:
    with pytest.raises(DecodeError) as decoded:
        Decoder().decode(data)
    with pytest.raises(DecodeError) as peeked:
        peek(b"xx" + data, 2)
    assert str(peeked.value) == str(decoded.value)


def test_nothing_has_no_head() -> None:
    with pytest.raises(DecodeError, match=r"at byte 0 expected a message type \(1 bytes\), found 0 bytes left$"):
        peek(b"xx", 2)
