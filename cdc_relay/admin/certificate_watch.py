"""Until when the certificates hold, looked at once an hour beside the stream, for the metrics.

On a thread of its own, because it reads files and talks to servers; it only ever replaces `Stats.certificates`.
"""

from __future__ import annotations

import select
import threading
from collections.abc import Iterable

import structlog

from cdc_relay.config import RelayConfig
from cdc_relay.logs import describe
from cdc_relay.stats import Stats
from cdc_relay.stop import Stop

__all__ = ["CertificateWatch"]

log = structlog.get_logger()

_PAUSE_SECONDS = 3600.0
_FIRST_SECONDS = 1.0  # a start has other worries


class CertificateWatch:
    def __init__(self, config: RelayConfig, *, stats: Stats, stop: Stop, pause_seconds: float = _PAUSE_SECONDS) -> None:
        self._config = config
        self._stats = stats
        self._stop = stop
        self._pause_seconds = pause_seconds
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """The first time only. Daemonic: nobody waits for it."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="cdc-relay-certificates", daemon=True)
            self._thread.start()

    def _watch(self) -> None:
        self._wait(min(_FIRST_SECONDS, self._pause_seconds))
        while not self._stop.requested:
            try:
                self._look()
            except Exception as exc:  # noqa: BLE001 - the relay works without it
                log.warning("certificates_unseen", **describe(exc))
            self._wait(self._pause_seconds)

    def _wait(self, seconds: float) -> None:
        select.select([self._stop], [], [], seconds)

    def _look(self) -> None:
        from cdc_relay.admin.check.certificates import see_certificates  # here: the first record does not wait for it

        seen = ((each.place, each.certificate.not_after.timestamp()) for each in see_certificates(self._config))
        # A server that is away now keeps what was seen of it.
        self._stats.upkeep.certificates = {**self._stats.upkeep.certificates, **_earliest(seen)}


def _earliest(seen: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Of a file with several, the first that expires."""
    found: dict[str, float] = {}
    for place, expiry in seen:
        found[place] = min(expiry, found.get(place, expiry))
    return found
