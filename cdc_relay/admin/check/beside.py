"""The check that a starting relay makes beside its stream: on a thread of its own, once, only to warn.

It never ends the relay and never keeps it from ending: what fails here and is no reason to refuse has been judged so.
"""

from __future__ import annotations

import select
import threading
from typing import TYPE_CHECKING

import structlog

from cdc_relay.config import RelayConfig
from cdc_relay.stop import Stop

if TYPE_CHECKING:
    from cdc_relay.admin.check.finding import Finding

__all__ = ["CheckBeside"]

log = structlog.get_logger()

_PAUSE_SECONDS = 1.0  # its imports and questions would compete with the first records


class CheckBeside:
    def __init__(self, config: RelayConfig, stop: Stop, *, pause_seconds: float = _PAUSE_SECONDS) -> None:
        self._config = config
        self._stop = stop
        self._pause_seconds = pause_seconds
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """The first time only: a line that broke and is back is no start. Daemonic: nobody waits for it."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._look, name="cdc-relay-check", daemon=True)
            self._thread.start()

    def _look(self) -> None:
        if select.select([self._stop], [], [], self._pause_seconds)[0]:
            return
        from cdc_relay.admin.check.check import check_beside_stream  # here: the first record does not wait for it

        try:
            for findings in check_beside_stream(self._config):
                if self._stop.requested:
                    return
                for finding in findings:
                    _tell(finding)
        except Exception as exc:  # the relay works without it
            log.warning("check_ended_early", exc_info=exc)


def _tell(finding: Finding) -> None:
    from cdc_relay.admin.check.finding import Level

    if finding.level is not Level.OK:
        fix = "; ".join(step.text for step in finding.steps)
        log.warning("check", name=finding.name, found=finding.found, stake=finding.stake, fix=fix)
