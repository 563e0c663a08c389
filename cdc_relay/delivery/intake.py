"""What one replication stream brings: frames in, records with their tickets out; ledger and window kept on the way.

Lives as long as one START_REPLICATION. Pure: it reads no socket, no clock, and publishes nothing.
"""

from __future__ import annotations

from typing import cast

from cdc_relay.delivery.ledger import Ledger
from cdc_relay.delivery.window import Window
from cdc_relay.errors import DecodeError
from cdc_relay.model import Failure, Identity, Record, Scheduled, Ticket, Transaction, Unroutable
from cdc_relay.protocol import wire
from cdc_relay.protocol.messages import Begin, Commit, Insert, Message, Relation
from cdc_relay.protocol.pgoutput import Decoder
from cdc_relay.routing.router import AnyPlan, Router, Values

__all__ = ["Intake", "Outcome", "Routed"]

_INSERT = ord("I")

_new = tuple.__new__  # what Ticket(...) ends in: 0.1 us less per row

Routed = Record | Scheduled | Unroutable
Outcome = tuple[Routed, Ticket]


class Intake:
    """Decoder, plans, ledger and window of one stream."""

    __slots__ = (
        "_decode",
        "_newest_parked",
        "_parked",
        "_plans",
        "_router",
        "_sentence",
        "_transaction",
        "has_passed_parked",
        "idle_lsn",
        "ignored_count",
        "lag_us",
        "largest_frame_bytes",
        "ledger",
        "reply_is_due",
        "transaction_count",
        "window",
    )

    def __init__(self, router: Router, window: Window, parked: frozenset[Identity] = frozenset()) -> None:
        self.ledger = Ledger()
        self.window = window
        self.reply_is_due = False  # the server asked for a status update
        self.idle_lsn = 0  # the server is past this with nothing for us, not yet entered in the ledger
        self.lag_us = 0  # how long after its commit the newest transaction was sent, both by the server's clock
        self.largest_frame_bytes = 0
        self.ignored_count = 0
        self.transaction_count = 0
        self._router = router
        self._decode = Decoder().decode
        self._plans: dict[int, AnyPlan | None] = {}
        self._transaction: Transaction | None = None
        self._parked = parked  # what the lot has of what the slot may deliver again
        self._newest_parked = max(((lsn, ordinal) for _, lsn, ordinal, _ in parked), default=(0, 0))
        self.has_passed_parked = not parked  # all that is older than what the lot has was delivered again
        self._sentence: Failure | None = None

    def take(self, frame: bytes | memoryview) -> Outcome | None:
        """One copy-data frame. An outcome is open in ledger and window until its ticket is settled."""
        kind = frame[0] if frame else -1
        if kind == wire.KEEPALIVE:
            self._take_keepalive(wire.parse_keepalive(frame))
            return None
        if kind != wire.XLOG_DATA:
            raise DecodeError(f"copy data: at byte 0 expected 'w' or 'k', found {kind:#x}")
        if len(frame) > self.largest_frame_bytes:
            self.largest_frame_bytes = len(frame)
        message = self._decode(frame, wire.PAYLOAD_OFFSET)
        if type(message) is Insert:
            return self._take_insert(message)
        self._take_other(message, wire.parse_xlog_header(frame))
        return None

    @staticmethod
    def is_row(frame: bytes | memoryview) -> bool:
        """Whether taking the frame could open a record."""
        return len(frame) > wire.PAYLOAD_OFFSET and frame[0] == wire.XLOG_DATA and frame[wire.PAYLOAD_OFFSET] == _INSERT

    def identify(self, frame: bytes | memoryview) -> Identity | None:
        """Which change taking this frame would bring, before it is decoded; None if it is no row of an outbox."""
        transaction = self._transaction
        if not self.is_row(frame) or transaction is None:
            return None
        start = wire.PAYLOAD_OFFSET + 1
        plan = self._plan(int.from_bytes(frame[start : start + 4]))
        if plan is None:
            return None
        return plan.origin.label, transaction.commit_lsn, transaction.record_count, transaction.commit_time_us

    def condemn(self, frame: bytes | memoryview, failure: Failure) -> Outcome | None:
        """Take a row without routing it."""
        self._sentence = failure
        try:
            return self.take(frame)
        finally:
            self._sentence = None

    def settle(self, ticket: Ticket) -> None:
        self.window.release(ticket.size_bytes)
        self.ledger.settle(ticket.transaction)

    def confirm_idle(self, lsn: int) -> None:
        """The publication was seen unchanged after the server passed `lsn`: nothing of ours was skipped up to there."""
        self.ledger.idle(lsn)
        if lsn >= self.idle_lsn:
            self.idle_lsn = 0

    def _take_insert(self, insert: Insert) -> Outcome | None:
        plan = self._plan(insert.relation_id)
        if plan is None:
            self.ignored_count += 1
            return None
        row = cast(Values, insert.row)
        if len(row) != plan.column_count:
            raise DecodeError(f"Insert: expected {plan.column_count} columns as its Relation says, found {len(row)}")
        ordinal = self.ledger.add()
        transaction = self._transaction
        if transaction is None:  # ledger.add() has raised already; said for the type checker
            raise DecodeError("Insert: outside a transaction")
        if self._parked and self._is_parked(plan.origin.label, ordinal):
            self.ledger.settle(transaction)
            return None
        try:
            if self._sentence is None:
                routed = plan.route(row, transaction.commit_time_us // 1000)
            else:
                routed = plan.refuse(row, self._sentence, plan.outbox.unrouted)
            ticket = _ticket(routed, row, plan=plan, transaction=transaction, ordinal=ordinal)
        except TypeError as exc:  # a value that is neither bytes nor NULL; a check per row would cost 0.1 us
            raise DecodeError("Insert: expected every column, found one marked as unchanged") from exc
        self.window.take(ticket.size_bytes)
        return routed, ticket

    def _is_parked(self, outbox: str, ordinal: int) -> bool:
        """A change that the lot has is settled: it was delivered again because the slot had not heard of it."""
        transaction = self._transaction
        assert transaction is not None
        if (transaction.commit_lsn, ordinal) > self._newest_parked:
            self._pass_parked()
            return False
        return (outbox, transaction.commit_lsn, ordinal, transaction.commit_time_us) in self._parked

    def _pass_parked(self) -> None:
        self.has_passed_parked = True
        self._parked = frozenset()

    def _plan(self, relation_id: int) -> AnyPlan | None:
        try:
            return self._plans[relation_id]
        except KeyError:
            raise DecodeError(f"Insert: relation {relation_id} was never described by a Relation message") from None

    def _take_other(self, message: Message, header: wire.XLogData) -> None:
        self.ledger.receive(header.start_lsn)
        match message:
            case Begin():
                self._transaction = self.ledger.begin(
                    commit_lsn=message.final_lsn, commit_time_us=message.commit_time_us, xid=message.xid
                )
                self.lag_us = header.send_time_us - message.commit_time_us
            case Commit():
                self.ledger.commit(message.end_lsn)
                self._transaction = None
                if message.commit_lsn >= self._newest_parked[0]:
                    self._pass_parked()
                self.idle_lsn = 0
                self.transaction_count += 1
                self.lag_us = header.send_time_us - message.commit_time_us
            case Relation():
                self._plans[message.relation_id] = self._router.plan(message)
            case _:
                self.ignored_count += 1  # updates, deletes, truncates, types, origins: not what an outbox publishes

    def _take_keepalive(self, keepalive: wire.Keepalive) -> None:
        self.ledger.receive(keepalive.wal_end)
        if keepalive.reply_requested:
            self.reply_is_due = True
        if not self.ledger.in_transaction:
            self.idle_lsn = keepalive.wal_end
            if keepalive.wal_end > self._newest_parked[0]:
                self._pass_parked()


def _ticket(routed: Routed, row: Values, *, plan: AnyPlan, transaction: Transaction, ordinal: int) -> Ticket:
    """An unroutable row counts whole: that is what stays in memory until it is parked."""
    if type(routed) is Unroutable:
        size_bytes = sum(len(value) for _, _, value in routed.columns if value is not None)
        return Ticket(transaction, ordinal, plan.origin, size_bytes, plan.event(row), [], "", routed.policy)
    record = routed if type(routed) is Record else cast(Scheduled, routed).record
    topic, _, _, headers, _, size_bytes, policy, _ = record
    return _new(Ticket, (transaction, ordinal, plan.origin, size_bytes, plan.event(row), headers, topic, policy))
