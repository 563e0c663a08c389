"""Which change a frame would bring, told before it is decoded: decoding may be what kills the process. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cdc_relay.model import Identity, Transaction
from cdc_relay.protocol import wire
from cdc_relay.protocol.peek import MessageHead, peek
from cdc_relay.routing.router import AnyPlan

__all__ = ["begin_of", "foresee"]

_ROWS = (ord("I"), ord("M"))  # the messages that may bring a record


def foresee(
    frame: bytes | memoryview,
    *,
    plan_of: Callable[[int], AnyPlan | None],
    messages: Mapping[str, AnyPlan],
    transaction: Transaction | None,
) -> Identity | None:
    """None if it is no row of an outbox."""
    if len(frame) <= wire.PAYLOAD_OFFSET or frame[0] != wire.XLOG_DATA or frame[wire.PAYLOAD_OFFSET] not in _ROWS:
        return None
    head = peek(frame, wire.PAYLOAD_OFFSET)
    if isinstance(head, MessageHead):
        plan = messages.get(head.prefix)
        if plan is not None and not head.transactional:
            return plan.origin.label, begin_of(head.lsn), 0, 0
    else:
        plan = plan_of(head)
    if plan is None or transaction is None:
        return None
    return plan.origin.label, transaction.commit_lsn, transaction.record_count, transaction.commit_time_us


def begin_of(message_lsn: int) -> int:
    """A message's LSN is where its record ends, a commit's where it begins; what is beyond a position has passed it."""
    return message_lsn - 1
