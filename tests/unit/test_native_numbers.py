"""Numbers at the edges: the compiled twins count in 64 bits, Python's without end. What differs is named here."""

from __future__ import annotations

from struct import pack

import pytest

from cdc_relay.errors import LedgerError
from tests.unit import frames
from tests.unit.intake_rig import OUTBOX, ROW
from tests.unit.native_frames import MESSAGES
from tests.unit.native_pair import Pair
from tests.unit.native_rig import NATIVE, PYTHON, Twins, needs_native

LAST_LSN = (1 << 64) - 1
LAST_TIME = (1 << 63) - 1  # Postgres' largest, in microseconds since 2000
LATEST_US = LAST_TIME - frames.EPOCH_US  # the largest that has a place in 64 bits since 1970 too


@pytest.mark.parametrize("lsn", [1, (1 << 63) - 2, (1 << 63) - 1, 1 << 63, LAST_LSN - 1])
def test_every_position_can_be_confirmed(twins: Twins, lsn: int) -> None:
    ledger = twins.ledger(ceiling_lsn=LAST_LSN)
    transaction = ledger.begin(commit_lsn=lsn, commit_time_us=0, xid=0xFFFF_FFFF)
    ledger.add()
    ledger.commit(lsn + 1)
    ledger.settle(transaction)
    assert (ledger.report(), ledger.received_lsn, ledger.settled_lsn) == (lsn + 1, lsn + 1, lsn + 1)
    assert str(transaction).startswith("transaction 4294967295 at LSN ")


def test_the_last_position_can_be_idle(twins: Twins) -> None:
    ledger = twins.ledger(ceiling_lsn=LAST_LSN)
    ledger.idle(LAST_LSN)
    assert ledger.report() == LAST_LSN


@needs_native
@pytest.mark.parametrize("lsn", [-1, LAST_LSN + 1])
def test_what_is_no_position_is_an_error_of_ours(lsn: int) -> None:
    """Python's ledger takes it; no frame has it."""
    assert NATIVE is not None
    ledger = NATIVE.ledger(ceiling_lsn=LAST_LSN)
    for act in (ledger.receive, ledger.idle, ledger.commit):
        with pytest.raises(LedgerError, match="no position"):
            act(lsn)
    with pytest.raises(LedgerError, match="no possible"):
        ledger.begin(commit_lsn=lsn, commit_time_us=0, xid=7)
    assert (ledger.received_lsn, ledger.in_transaction, ledger.oldest) == (0, False, None)


@needs_native
def test_what_is_no_transaction_is_refused_without_a_crash() -> None:
    assert NATIVE is not None
    ledger = NATIVE.ledger()
    for nothing in (None, object(), PYTHON.ledger().begin(commit_lsn=1, commit_time_us=0, xid=1)):
        with pytest.raises(TypeError):
            ledger.settle(nothing)  # type: ignore[arg-type]  # wrong on purpose


def begin(time: int, *, sent: int = 0, lsn: int = 200) -> bytes:
    """Times since 2000, as on the wire."""
    return frames.xlog(b"B" + pack(">QqI", lsn, time, 7), lsn=lsn, sent_us=frames.EPOCH_US + sent)


@needs_native
@pytest.mark.parametrize("time", [-(1 << 63), -frames.EPOCH_US - 1, -frames.EPOCH_US, -1, 0, LATEST_US - 1, LATEST_US])
@pytest.mark.parametrize("sent", [-(1 << 63), 0, LATEST_US, LAST_TIME])
def test_times_before_1970_and_after_the_year_200000_are_taken_alike(time: int, sent: int) -> None:
    pair = Pair([OUTBOX])
    pair.take(begin(time, sent=sent))
    pair.take(frames.relation())
    pair.take(frames.insert(*ROW))
    body = b"C" + pack(">BQQq", 0, 200, 201, time)
    pair.take(frames.xlog(body, lsn=201, sent_us=frames.EPOCH_US + sent))
    assert [ticket.identity[3] for _, ticket in pair.open] == [time + frames.EPOCH_US]


@needs_native
@pytest.mark.parametrize("time", [LATEST_US + 1, LAST_TIME])
def test_a_commit_in_the_last_years_of_64_bits_is_refused_by_the_compiled_ledger_alone(time: int) -> None:
    """Python's takes it. Postgres' own clock ends before."""
    pair = Pair([OUTBOX])
    assert pair.python.take(begin(time)) is None
    with pytest.raises(LedgerError, match="transaction 7 has no possible time"):
        pair.native.take(begin(time))
    assert not pair.native.ledger.in_transaction


@needs_native
def test_a_message_at_position_0_is_refused_by_both_with_other_words() -> None:
    """Postgres has nothing there: 0 is no position."""
    pair = Pair([MESSAGES])
    frame = frames.message(b"{}", lsn=0, transactional=False)
    with pytest.raises(LedgerError, match="arrived after"):
        pair.python.take(frame)
    with pytest.raises(LedgerError, match="no possible"):
        pair.native.take(frame)


@needs_native
@pytest.mark.parametrize("lsn", [(1 << 63) - 2, 1 << 63, LAST_LSN - 1])
def test_a_stream_near_the_end_of_all_positions_is_taken_alike(lsn: int) -> None:
    pair = Pair([OUTBOX])
    for frame in (begin(0, lsn=lsn), frames.relation(), frames.insert(*ROW), frames.commit(lsn + 1)):
        pair.take(frame)
    pair.settle_all(1)
    assert pair.native.ledger.safe_lsn == lsn + 1
