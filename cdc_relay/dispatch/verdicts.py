"""What a verdict on a record means for it, for its key and its neighbours.

The table of failures decides; this carries it out. What cannot go out now goes to the entrance of the lot; what came
from the lot is written down there again, with what became of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

import structlog

from cdc_relay.dispatch.claims import Claims
from cdc_relay.dispatch.culprits import Culprits, find_largest
from cdc_relay.dispatch.detours import Detours
from cdc_relay.dispatch.entrance import Entrance
from cdc_relay.dispatch.record_lines import describe_record
from cdc_relay.dispatch.strict_keys import StrictKeys
from cdc_relay.dispatch.traffic import Traffic
from cdc_relay.errors import SinkError
from cdc_relay.model import Action, Failure, Record
from cdc_relay.parking.entry import Claim, Outcome, Purpose, Status
from cdc_relay.sinks.sink import Reject, Slip

__all__ = ["Verdicts"]

log = structlog.get_logger()

_COPY_SECONDS = 30.0  # between two tries of a copy for the dead-letter topic


class Verdicts:
    def __init__(
        self,
        entrance: Entrance,
        traffic: Traffic,
        *,
        claims: Claims,
        culprits: Culprits,
        detours: Detours,
        keys: StrictKeys,
    ) -> None:
        self.close_topic: Callable[[str, Failure], None] = lambda topic, failure: None
        self._entrance = entrance
        self._traffic = traffic
        self._claims = claims
        self._culprits = culprits
        self._detours = detours
        self._keys = keys

    def carry_out(self, rejects: list[Reject]) -> None:
        largest = find_largest(rejects)
        for reject in rejects:
            self._judge(reject, largest)

    def fail_claim(self, claim: Claim, failure: Failure) -> None:
        is_dead = self._claims.fail(claim, failure)
        if claim.record is not None and claim.keeps_order and (not is_dead or claim.policy.hold_dead):
            self._keys.shut((claim.topic, claim.record.key))

    def _judge(self, reject: Reject, largest: dict[str, int]) -> None:
        slip, record, failure, was_alone = reject
        if isinstance(slip, Claim) and slip.purpose is Purpose.COPY:
            self._judge_copy(slip, reject)
            return
        match failure.action:
            case Action.PARK:
                self._fail(record, slip, failure)
            case Action.RESEND:
                self._detours.send_again(record, slip)
            case Action.RESEND_ALONE if was_alone:
                self._fail(record, slip, failure)
            case Action.RESEND_ALONE:
                self._detours.send_again(record, slip, alone=self._culprits.suspect(reject, largest))
            case Action.CLOSE_TOPIC:
                self.close_topic(record.topic, failure)
                self._detours.shelve(record, slip)
            case Action.HOLD:
                self._detours.hold(record, slip)
            case Action.REBUILD:
                raise SinkError(f"the Kafka producer broke: {failure.reason}")
            case _:
                assert_never(failure.action)

    def _judge_copy(self, claim: Claim, reject: Reject) -> None:
        """It closes no topic and is never given up: the record's own fate is decided already."""
        failure = reject.failure
        if failure.action is Action.RESEND_ALONE and not reject.was_alone:
            self._traffic.hand_out(reject.record, claim, alone=True)
            return
        self._claims.conclude(claim, Outcome.COPY_FAILED, failure=failure, retry_seconds=_COPY_SECONDS)
        log.warning("copy_failed", **describe_record(claim), code=failure.code, reason=failure.reason)

    def _fail(self, record: Record, slip: Slip, failure: Failure) -> None:
        self._culprits.convict(record, slip, failure)
        self._detours.note(record.topic)
        if isinstance(slip, Claim):
            self.fail_claim(slip, failure)
            return
        status = self._entrance.take_failed(record, slip, failure)
        if slip.keeps_order:
            self._keys.on_failed(record, slip, must_wait=status is Status.RETRYING or slip.policy.hold_dead)
