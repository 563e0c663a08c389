"""What one replication stream brings: frames in, records with their tickets out; ledger and window kept on the way.

Lives as long as one START_REPLICATION. Pure: it reads no socket, no clock, and publishes nothing.
"""

from __future__ import annotations

from typing import cast

from cdc_relay.delivery.foresight import begin_of, foresee
from cdc_relay.delivery.outcome import Outcome, event_unseen, make_ticket
from cdc_relay.delivery.parked import Parked
from cdc_relay.delivery.twins import make_ledger, make_take, settle_all
from cdc_relay.delivery.window import Window
from cdc_relay.errors import DecodeError
from cdc_relay.model import DROPPED, Failure, Identity, Ticket, Transaction
from cdc_relay.protocol import wire
from cdc_relay.protocol.messages import (
    UNCHANGED,
    Begin,
    Commit,
    Delete,
    Insert,
    LogicalMessage,
    Message,
    Relation,
    Row,
    Truncate,
    Type,
    Update,
)
from cdc_relay.protocol.pgoutput import Decoder
from cdc_relay.routing.domains import Domains
from cdc_relay.routing.router import AnyPlan, Router, Values

__all__ = ["Intake"]


class Intake:
    """Decoder, plans, ledger and window of one stream."""

    __slots__ = (
        "_decode",
        "_domains",
        "_messages",
        "_parked",
        "_plans",
        "_router",
        "_sentence",
        "change_count",
        "dropped_count",
        "idle_lsn",
        "ignored_count",
        "lag_us",
        "largest_frame_bytes",
        "ledger",
        "reply_is_due",
        "take",
        "transaction_count",
        "window",
    )

    def __init__(
        self, router: Router, window: Window, parked: frozenset[Identity] = frozenset(), *, ceiling_lsn: int = 0
    ) -> None:
        self.ledger = make_ledger(window, ceiling_lsn=ceiling_lsn)
        self.window = window
        self.reply_is_due = False  # the server asked for a status update
        self.idle_lsn = 0  # the server is past this with nothing for us, not yet entered in the ledger
        self.lag_us = 0  # how long after its commit the newest transaction was sent, both by the server's clock
        self.largest_frame_bytes = 0
        self.ignored_count = 0  # of tables and prefixes that are no outbox
        self.change_count = 0  # updates, deletes and truncates of outboxes: a foreign publication sends them
        self.dropped_count = 0  # by a route that says so
        self.transaction_count = 0
        self._router = router
        self._decode = Decoder().decode
        self._domains = Domains()
        self._plans: dict[int, AnyPlan | None] = {}
        self._messages = router.plan_messages(now_us=self._server_time_us)
        self._parked = Parked(parked)
        self._sentence: Failure | None = None
        self.take = make_take(self, self.take_any, plans=self._plans, parked=self._parked)

    @property
    def has_passed_parked(self) -> bool:
        """All that is older than what the lot has was delivered again."""
        return self._parked.is_passed

    @property
    def is_pure(self) -> bool:
        """Python takes every frame."""
        return isinstance(self.window, Window)

    @property
    def oldest(self) -> Transaction | None:
        """That is not settled."""
        return self.ledger.oldest

    def take_any(self, frame: bytes | memoryview) -> Outcome | None:
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
        header = wire.parse_xlog_header(frame)
        if type(message) is LogicalMessage:
            return self._take_message(message, header)
        self._take_other(message, header)
        return None

    def identify(self, frame: bytes | memoryview) -> Identity | None:
        """Which change taking this frame would bring, before it is decoded; None if it is no row of an outbox."""
        return foresee(frame, plan_of=self._plan, messages=self._messages, transaction=self.ledger.current)

    def condemn(self, frame: bytes | memoryview, failure: Failure) -> Outcome | None:
        """Take a row without routing it."""
        self._sentence = failure
        try:
            return self.take_any(frame)
        finally:
            self._sentence = None

    def settle(self, ticket: Ticket) -> None:
        self.window.release(ticket.size_bytes)
        self.ledger.settle(ticket.transaction)

    def settle_all(self, tickets: list[Ticket]) -> int:
        """As `settle` for each; how many bytes they were."""
        return settle_all(tickets, self.ledger, self.window)

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
        transaction = self.ledger.current
        if transaction is None:
            raise DecodeError("Insert: outside a transaction")
        return self._take_row(plan, row, transaction, transaction.commit_time_us // 1000)

    def _take_message(self, message: LogicalMessage, header: wire.XLogData) -> Outcome | None:
        """One that is not transactional is a transaction of its own, and the server's clock is all the time it has."""
        self.ledger.receive(header.start_lsn)
        plan = self._messages.get(message.prefix)
        if plan is None:
            self.ignored_count += 1
            return None
        if message.transactional:
            transaction = self.ledger.current
            if transaction is None:
                raise DecodeError("Message: a transactional one outside a transaction")
            return self._take_row(plan, (message.content,), transaction, transaction.commit_time_us // 1000)
        transaction = self.ledger.begin(commit_lsn=begin_of(message.lsn), commit_time_us=0, xid=0)
        self.lag_us = header.send_time_us  # beside a commit time of 0: together, when it was sent
        outcome = self._take_row(plan, (message.content,), transaction, header.send_time_us // 1000)
        self.ledger.commit(message.lsn)  # where its record ends: one more, and the next message would be skipped
        self.transaction_count += 1
        self.lag_us = 0  # nobody knows, and to gather longer than needed would cost each of them
        return outcome

    def _take_row(self, plan: AnyPlan, row: Values, transaction: Transaction, timestamp_ms: int) -> Outcome | None:
        ordinal = self.ledger.add()
        if not self._parked.is_passed and self._parked.has(plan.origin.label, transaction, ordinal):
            self.ledger.settle(transaction)
            return None
        try:
            if self._sentence is None:
                routed = plan.route(row, transaction, ordinal, timestamp_ms)
            else:
                routed = plan.refuse(row, self._sentence, plan.outbox.unrouted)
            if routed is DROPPED:
                self.dropped_count += 1
                self.ledger.settle(transaction)
                return None
            event = plan.event(row) if self._sentence is None else event_unseen(plan, row)
            ticket = make_ticket(routed, event, plan=plan, transaction=transaction, ordinal=ordinal)
        except (TypeError, AttributeError) as exc:  # a check per row would cost 0.1 us
            if UNCHANGED not in cast(Row, row):
                raise
            raise DecodeError("Insert: expected every column, found one marked as unchanged") from exc
        self.window.take(ticket.size_bytes)
        return routed, ticket

    def _server_time_us(self) -> int:
        """When the server began to send the open transaction: no later than now, so nothing is due too early. What
        becomes due while a long one is read goes the way of the lot."""
        transaction = self.ledger.current
        assert transaction is not None  # no row is routed outside of one
        return transaction.commit_time_us + self.lag_us

    def _plan(self, relation_id: int) -> AnyPlan | None:
        try:
            return self._plans[relation_id]
        except KeyError:
            raise DecodeError(f"Insert: relation {relation_id} was never described by a Relation message") from None

    def _take_other(self, message: Message, header: wire.XLogData) -> None:
        self.ledger.receive(header.start_lsn)
        match message:
            case Begin():
                self.ledger.begin(commit_lsn=message.final_lsn, commit_time_us=message.commit_time_us, xid=message.xid)
                self.lag_us = header.send_time_us - message.commit_time_us
            case Commit():
                self.ledger.commit(message.end_lsn)
                self._parked.pass_commit(message.commit_lsn)
                self.idle_lsn = 0
                self.transaction_count += 1
                self.lag_us = header.send_time_us - message.commit_time_us
            case Relation():
                relation = self._domains.resolve(message)
                self._plans[message.relation_id] = self._router.plan(relation, now_us=self._server_time_us)
            case Type():
                self._domains.learn(message)
            case Update() | Delete():
                self._count_change(message.relation_id)
            case Truncate():
                for relation_id in message.relation_ids:
                    self._count_change(relation_id)
            case _:
                self.ignored_count += 1  # origins

    def _count_change(self, relation_id: int) -> None:
        """A clean-up job's, perhaps: never published."""
        if self._plans.get(relation_id) is None:
            self.ignored_count += 1
        else:
            self.change_count += 1

    def _take_keepalive(self, keepalive: wire.Keepalive) -> None:
        self.ledger.receive(keepalive.wal_end)
        if keepalive.reply_requested:
            self.reply_is_due = True
        if not self.ledger.in_transaction:
            self.idle_lsn = keepalive.wal_end
            self.lag_us = 0  # it has nothing more
            self._parked.pass_position(keepalive.wal_end)
