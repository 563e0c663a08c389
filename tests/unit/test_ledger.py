"""Both ledgers against examples, and against a naive model driven by hypothesis."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from cdc_relay.delivery.ledger import Ledger
from cdc_relay.errors import LedgerError
from cdc_relay.model import Transaction
from tests.unit.native_rig import NATIVE, PYTHON, Twins, needs_native

ANY = 1 << 63  # the guard allows everything


def open_transaction(ledger: Ledger, *, commit_lsn: int, records: int = 0) -> Transaction:
    transaction = ledger.begin(commit_lsn=commit_lsn, commit_time_us=0, xid=7)
    for _ in range(records):
        ledger.add()
    return transaction


def test_nothing_is_safe_before_something_is_settled(twins: Twins) -> None:
    ledger = twins.ledger(ceiling_lsn=ANY)
    ledger.receive(100)
    open_transaction(ledger, commit_lsn=50, records=1)
    ledger.commit(60)
    assert ledger.report() == 0


def test_safe_lsn_waits_for_the_oldest_transaction(twins: Twins) -> None:
    ledger = twins.ledger(ceiling_lsn=ANY)
    first = open_transaction(ledger, commit_lsn=10, records=2)
    ledger.commit(20)
    second = open_transaction(ledger, commit_lsn=30, records=1)
    ledger.commit(40)
    ledger.settle(second)
    ledger.settle(first)
    assert ledger.safe_lsn == 0
    ledger.settle(first)
    assert ledger.safe_lsn == 40


def test_the_oldest_is_the_first_that_is_not_settled(twins: Twins) -> None:
    ledger = twins.ledger(ceiling_lsn=ANY)
    assert ledger.oldest is None
    first = open_transaction(ledger, commit_lsn=10, records=1)
    ledger.commit(20)
    second = open_transaction(ledger, commit_lsn=30, records=1)
    assert ledger.oldest is first
    ledger.settle(first)
    assert ledger.oldest is second


def test_a_transaction_is_not_safe_before_its_commit_is_read(twins: Twins) -> None:
    ledger = twins.ledger(ceiling_lsn=ANY)
    transaction = open_transaction(ledger, commit_lsn=10, records=1)
    ledger.settle(transaction)
    assert ledger.safe_lsn == 0
    ledger.commit(20)
    assert ledger.safe_lsn == 20


def test_an_idle_position_never_passes_what_is_in_flight(twins: Twins) -> None:
    ledger = twins.ledger(ceiling_lsn=ANY)
    transaction = open_transaction(ledger, commit_lsn=10, records=1)
    ledger.commit(20)
    ledger.idle(90)
    assert ledger.safe_lsn == 0
    ledger.settle(transaction)
    assert ledger.safe_lsn == 90


def test_an_idle_position_inside_a_transaction_counts_for_nothing(twins: Twins) -> None:
    ledger = twins.ledger(ceiling_lsn=ANY)
    open_transaction(ledger, commit_lsn=10)
    ledger.idle(90)
    ledger.commit(20)
    assert ledger.safe_lsn == 20


def test_ordinals_count_the_records_of_their_transaction(twins: Twins) -> None:
    ledger = twins.ledger(ceiling_lsn=ANY)
    open_transaction(ledger, commit_lsn=10)
    assert [ledger.add(), ledger.add()] == [0, 1]
    ledger.commit(20)
    open_transaction(ledger, commit_lsn=30)
    assert ledger.add() == 0


def test_a_report_beyond_what_was_received_is_refused(twins: Twins) -> None:
    ledger = twins.ledger(ceiling_lsn=ANY)
    ledger.received_lsn = 10
    ledger.safe_lsn = 11
    with pytest.raises(LedgerError, match="0/B"):
        ledger.report()


def test_a_report_below_the_last_one_is_refused(twins: Twins) -> None:
    ledger = twins.ledger(ceiling_lsn=ANY)
    ledger.idle(20)
    assert ledger.report() == 20
    ledger.safe_lsn = 19
    with pytest.raises(LedgerError, match="0/13"):
        ledger.report()


def test_the_ledger_refuses_what_no_stream_can_say(twins: Twins) -> None:
    ledger = twins.ledger(ceiling_lsn=ANY)
    with pytest.raises(LedgerError):
        ledger.add()
    with pytest.raises(LedgerError):
        ledger.commit(10)
    transaction = open_transaction(ledger, commit_lsn=10, records=1)
    with pytest.raises(LedgerError):
        open_transaction(ledger, commit_lsn=11)
    ledger.commit(20)
    ledger.settle(transaction)
    with pytest.raises(LedgerError, match="twice"):
        ledger.settle(transaction)
    open_transaction(ledger, commit_lsn=15)
    with pytest.raises(LedgerError, match="after"):
        ledger.commit(20)


def test_a_transaction_is_as_the_stream_announced_it(twins: Twins) -> None:
    ledger = twins.ledger()
    transaction = ledger.begin(commit_lsn=0x16_0000_000A, commit_time_us=12, xid=7)
    assert (transaction.commit_lsn, transaction.commit_time_us, transaction.xid) == (0x16_0000_000A, 12, 7)
    assert (transaction.end_lsn, ledger.current, ledger.in_transaction) == (0, transaction, True)
    assert (ledger.add(), transaction.record_count, transaction.open_count) == (0, 1, 1)
    ledger.commit(0x16_0000_000B)
    assert (transaction.end_lsn, ledger.current, ledger.in_transaction) == (0x16_0000_000B, None, False)


def test_a_new_ledger_knows_no_position_but_the_guard_s(twins: Twins) -> None:
    ledger = twins.ledger()
    assert (ledger.safe_lsn, ledger.settled_lsn, ledger.received_lsn, ledger.ceiling_lsn) == (0, 0, 0, 0)
    assert twins.ledger(ceiling_lsn=9).ceiling_lsn == 9


def test_a_position_received_is_the_highest_there_was(twins: Twins) -> None:
    ledger = twins.ledger()
    for lsn in (10, 30, 20):
        ledger.receive(lsn)
    assert ledger.received_lsn == 30
    ledger.idle(40)
    assert ledger.received_lsn == 40


def test_only_transactions_with_records_count_as_settled_work(twins: Twins) -> None:
    """The guard lets the others wait."""
    ledger = twins.ledger()
    ledger.settle(open_transaction(ledger, commit_lsn=10, records=1))
    ledger.commit(20)
    ledger.idle(30)
    open_transaction(ledger, commit_lsn=40)
    ledger.commit(50)
    assert (ledger.safe_lsn, ledger.settled_lsn) == (50, 20)


def test_nothing_above_the_ceiling_is_confirmed(twins: Twins) -> None:
    ledger = twins.ledger(ceiling_lsn=15)
    ledger.idle(10)
    assert (ledger.confirmable_lsn, ledger.report()) == (10, 10)
    ledger.idle(20)
    assert (ledger.confirmable_lsn, ledger.report(), ledger.report()) == (15, 15, 15)
    ledger.ceiling_lsn = 30
    assert (ledger.confirmable_lsn, ledger.report()) == (20, 20)


def test_a_refusal_names_positions_and_transaction(twins: Twins) -> None:
    ledger = twins.ledger(ceiling_lsn=ANY)
    with pytest.raises(LedgerError, match=r"^a change arrived outside a transaction$"):
        ledger.add()
    with pytest.raises(LedgerError, match=r"^a commit at 0/A without a begin$"):
        ledger.commit(10)
    transaction = open_transaction(ledger, commit_lsn=10)
    with pytest.raises(LedgerError, match=r"^a transaction began inside transaction 7 at LSN 0/A$"):
        open_transaction(ledger, commit_lsn=11)
    ledger.commit(20)
    with pytest.raises(LedgerError, match=r"^a record of transaction 7 at LSN 0/A was settled twice$"):
        ledger.settle(transaction)
    open_transaction(ledger, commit_lsn=15)
    with pytest.raises(LedgerError, match=r"^position 0/13 arrived after 0/14$"):
        ledger.commit(19)


def test_a_refused_report_says_what_it_would_have_been_and_changes_nothing(twins: Twins) -> None:
    ledger = twins.ledger(ceiling_lsn=ANY)
    ledger.idle(20)
    ledger.report()
    ledger.safe_lsn = 21
    with pytest.raises(LedgerError) as refusal:
        ledger.report()
    said = "refusing to confirm 0/15: this session received up to 0/14 and has confirmed 0/14"
    assert (refusal.value.message, ledger.received_lsn) == (said, 20)
    assert refusal.value.remedy == "this is a defect of cdc-relay; restart it (nothing is lost) and report it"
    ledger.safe_lsn = 20
    assert ledger.report() == 20


def test_an_idle_position_that_is_not_newer_says_nothing(twins: Twins) -> None:
    ledger = twins.ledger(ceiling_lsn=ANY)
    for lsn in (20, 20, 10):
        ledger.idle(lsn)
    assert (ledger.safe_lsn, ledger.received_lsn, ledger.oldest) == (20, 20, None)


def test_the_first_position_of_a_wal_is_one_and_zero_is_none(twins: Twins) -> None:
    ledger = twins.ledger(ceiling_lsn=ANY)
    ledger.idle(0)
    assert (ledger.safe_lsn, ledger.oldest) == (0, None)
    ledger.idle(1)
    assert ledger.safe_lsn == 1


def test_a_transaction_without_records_is_not_safe_before_its_commit_either(twins: Twins) -> None:
    ledger = twins.ledger(ceiling_lsn=ANY)
    first = open_transaction(ledger, commit_lsn=10, records=1)
    ledger.commit(20)
    second = open_transaction(ledger, commit_lsn=30)
    ledger.settle(first)
    assert (ledger.safe_lsn, ledger.oldest) == (20, second)


def test_a_first_report_that_is_refused_says_that_nothing_was_confirmed(twins: Twins) -> None:
    ledger = twins.ledger(ceiling_lsn=ANY)
    ledger.safe_lsn = 1
    with pytest.raises(LedgerError, match="received up to 0/0 and has confirmed 0/0"):
        ledger.report()


@dataclass
class ModelTransaction:
    """What the naive model knows: everything, in a list that never shrinks."""

    real: Transaction | None  # None: an idle position
    end_lsn: int = 0
    open: int = 0
    ordinals: list[int] = field(default_factory=list)


class LedgerMachine(RuleBasedStateMachine):
    """Interleaved transactions, acks in any order, keepalives, parks and reconnects against the model."""

    twins = PYTHON

    @initialize()
    def start(self) -> None:
        self.reconnect()
        self.lsn = 1  # Postgres' first position; 0 means none

    @rule()
    def reconnect(self) -> None:
        """Every LSN dies with its connection."""
        self.ledger = self.twins.ledger(ceiling_lsn=ANY)
        self.model: list[ModelTransaction] = []
        self.reported = 0
        self.in_transaction = False

    def next_lsn(self, step: int) -> int:
        self.lsn += step
        return self.lsn

    @precondition(lambda self: not self.in_transaction)
    @rule(step=st.integers(1, 1000))
    def begin(self, step: int) -> None:
        real = self.ledger.begin(commit_lsn=self.next_lsn(step), commit_time_us=1, xid=len(self.model))
        self.model.append(ModelTransaction(real))
        self.in_transaction = True

    @precondition(lambda self: self.in_transaction)
    @rule(count=st.integers(1, 5))
    def add(self, count: int) -> None:
        for _ in range(count):
            self.model[-1].ordinals.append(self.ledger.add())
            self.model[-1].open += 1

    @precondition(lambda self: self.in_transaction)
    @rule(step=st.integers(1, 1000))
    def commit(self, step: int) -> None:
        self.model[-1].end_lsn = self.next_lsn(step)
        self.ledger.commit(self.lsn)
        self.in_transaction = False

    @rule(step=st.integers(0, 1000))
    def keepalive(self, step: int) -> None:
        lsn = self.lsn + step
        self.ledger.receive(lsn)
        self.ledger.idle(lsn)
        if not self.in_transaction:
            self.lsn = lsn
            self.model.append(ModelTransaction(None, end_lsn=lsn))

    @precondition(lambda self: any(entry.open for entry in self.model))
    @rule(data=st.data())
    def settle(self, data: st.DataObject) -> None:
        """Delivered or parked: the ledger does not care which."""
        entry = data.draw(st.sampled_from([entry for entry in self.model if entry.open]))
        assert entry.real is not None
        self.ledger.settle(entry.real)
        entry.open -= 1

    @rule()
    def report(self) -> None:
        lsn = self.ledger.report()
        assert lsn >= self.reported
        assert lsn <= self.ledger.received_lsn
        self.reported = lsn

    @invariant()
    def safe_lsn_ends_the_longest_settled_prefix(self) -> None:
        safe = 0
        for entry in self.model:
            if entry.open or not entry.end_lsn:
                break
            safe = entry.end_lsn
        assert self.ledger.safe_lsn == safe

    @invariant()
    def ordinals_have_no_gap(self) -> None:
        assert all(entry.ordinals == list(range(len(entry.ordinals))) for entry in self.model)


class NativeLedgerMachine(LedgerMachine):
    twins = NATIVE or PYTHON


LedgerMachine.TestCase.settings = settings(max_examples=300, stateful_step_count=60, deadline=None)
NativeLedgerMachine.TestCase.settings = LedgerMachine.TestCase.settings
TestLedgerAgainstModel = LedgerMachine.TestCase
TestNativeLedgerAgainstModel = needs_native(NativeLedgerMachine.TestCase)
