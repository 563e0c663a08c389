"""Turns in which nothing new is read: what is open comes back, or is parked. The status clock runs on."""

from __future__ import annotations

from collections.abc import Callable

from cdc_relay.bell import Bell
from cdc_relay.delivery.intake import Intake
from cdc_relay.dispatch.dispatch import Dispatch
from cdc_relay.session.ceiling import Ceiling
from cdc_relay.session.progress import Progress
from cdc_relay.session.pulse import Pulse
from cdc_relay.sinks.sink import Sink

__all__ = ["Drain"]

_TURN_SECONDS = 0.05
_CONFIRM_SECONDS = 5.0


class Drain:
    def __init__(
        self,
        intake: Intake,
        dispatch: Dispatch,
        sink: Sink,
        *,
        pulse: Pulse,
        ceiling: Ceiling,
        progress: Progress,
        bell: Bell,
        clock: Callable[[], float],
    ) -> None:
        self._intake = intake
        self._dispatch = dispatch
        self._sink = sink
        self._pulse = pulse
        self._ceiling = ceiling
        self._progress = progress
        self._bell = bell
        self._clock = clock

    @property
    def is_empty(self) -> bool:
        """Nothing is open, and nothing on its way to or from the lot."""
        return not self._intake.window.record_count and self._dispatch.is_idle

    def run(self, deadline: float) -> None:
        while not self.is_empty and self._clock() < deadline:
            self._turn()

    def confirm(self, seconds: float = _CONFIRM_SECONDS) -> bool:
        """All that is safe, as soon as the guard has it written down; False when it cannot."""
        deadline, ceiling = self._clock() + seconds, self._ceiling
        ceiling.urge()
        while not ceiling.is_reached and not ceiling.trouble and self._clock() < deadline:
            self._pulse.report_if_due(self._clock())
            if not ceiling.is_reached:
                self._bell.wait(_TURN_SECONDS)
                self._bell.hush()
        return ceiling.is_reached

    def _turn(self) -> None:
        dispatch = self._dispatch
        if dispatch.is_waiting_for_broker:
            dispatch.returns.settle(self._sink.flush(_TURN_SECONDS))
        else:
            self._bell.wait(_TURN_SECONDS)
            self._bell.hush()
            dispatch.returns.settle(self._sink.poll(0))
        now = self._clock()
        dispatch.tend(now, may_claim=False)
        self._progress.update()
        self._pulse.report_if_due(now)
        self._progress.count(now)
