"""An intake and the frames that it is fed."""

from __future__ import annotations

from cdc_relay.delivery.intake import Intake
from cdc_relay.delivery.outcome import Routed
from cdc_relay.model import Ticket
from cdc_relay.routing.router import Outbox, Router
from tests.unit.native_rig import PYTHON, Twins

__all__ = ["OUTBOX", "ROW", "feed", "make_intake"]

OUTBOX = Outbox("public", "outbox", "public.outbox", "id", "aggregateid", "type", "payload")
ROW = (b"e1", b"order", b"k1", b"Placed", b'{"n": 1.10}')


def make_intake(twins: Twins = PYTHON, outbox: Outbox = OUTBOX) -> Intake:
    return Intake(Router([outbox]), twins.window(record_limit=10, byte_limit=1000))


def feed(intake: Intake, *stream: bytes) -> list[tuple[Routed, Ticket]]:
    return [outcome for frame in stream if (outcome := intake.take(frame)) is not None]
