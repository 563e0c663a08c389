"""What one replication stream brings: frames in, records with their tickets out; ledger and window kept on the way.

Lives as long as one START_REPLICATION. Pure: it reads no socket, no clock, and publishes nothing.
"""

from __future__ import annotations

from typing import cast

from cdc_relay.delivery.ledger import Ledger
from cdc_relay.delivery.window import Window
from cdc_relay.errors import DecodeError
from cdc_relay.model import Failure, Record, Ticket, Transaction
from cdc_relay.protocol import wire
from cdc_relay.protocol.messages import Begin, Commit, Insert, Message, Relation
from cdc_relay.protocol.pgoutput import Decoder
from cdc_relay.routing.router import Plan, Router, Values

__all__ = ["Intake", "Outcome"]

_INSERT = ord("I")

Outcome = tuple[Record | Failure, Ticket]


class Intake:
    """Decoder, plans, ledger and window of one stream."""

    __slots__ = (
        "_decode",
        "_plans",
        "_router",
        "_transaction",
        "idle_lsn",
        "ignored_count",
        "lag_us",
        "largest_frame_bytes",
        "ledger",
        "reply_is_due",
        "transaction_count",
        "window",
    )

    def __init__(self, router: Router, window: Window) -> None:
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
        self._plans: dict[int, Plan | None] = {}
        self._transaction: Transaction | None = None

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
        try:
            routed = plan.route(row, transaction.commit_time_us // 1000)
        except TypeError as exc:  # a value that is neither bytes nor NULL; a check per row would cost 0.1 us
            raise DecodeError("Insert: expected every column, found one marked as unchanged") from exc
        label = plan.outbox.label
        if type(routed) is Record:
            ticket = Ticket(transaction, ordinal, label, routed.size_bytes, routed.event_id, routed.headers)
        else:
            ticket = Ticket(transaction, ordinal, label, 0, plan.event_id(row), [])
        self.window.take(ticket.size_bytes)
        return routed, ticket

    def _plan(self, relation_id: int) -> Plan | None:
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
