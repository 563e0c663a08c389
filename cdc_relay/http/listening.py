"""When the HTTP server has its port: at the start if it is free, else once the slot is ours, and then it must."""

from __future__ import annotations

import threading
import time

import structlog

from cdc_relay.errors import RefusedError
from cdc_relay.http.server import HttpServer
from cdc_relay.stats import Stats
from cdc_relay.stop import Stop

__all__ = ["Listening"]

log = structlog.get_logger()

_PORT_PATIENCE_SECONDS = 10.0  # what a reader that just gave the slot away may need to close its port


class Listening:
    """A busy port is only warned of while standing by, and for a moment after: the reader before us may hold it."""

    def __init__(self, address: tuple[str, int] | None, *, stats: Stats, stop: Stop) -> None:
        self._address = address
        self._server = HttpServer(self._address, stats) if self._address else None
        self._stop = stop
        self._refusal: RefusedError | None = None
        self._insisting: threading.Thread | None = None

    def offer(self) -> None:
        if self._server is not None and not self._server.start():
            log.warning("http_port_busy", address=self._address, consequence="tried again when the slot is taken over")

    def insist(self) -> None:
        """On a thread of its own: the loop does not wait for a port."""
        if self._server is not None and self._insisting is None and not self._server.start():
            self._insisting = threading.Thread(target=self._keep_trying, name="cdc-relay-http", daemon=True)
            self._insisting.start()

    def close(self) -> None:
        if self._server is not None:
            self._server.close()

    def raise_refusal(self) -> None:
        """After the relay has stopped for it: whatever else went wrong on the way has said so already."""
        if self._refusal is not None:
            raise self._refusal

    def _keep_trying(self) -> None:
        assert self._server is not None
        deadline = time.monotonic() + _PORT_PATIENCE_SECONDS
        try:
            while not self._stop.requested and not self._server.start():
                if time.monotonic() > deadline:
                    host, port = self._address or ("", 0)
                    remedy = "set http.listen to a free port, or off"
                    raise RefusedError(f"http.listen: {host}:{port} is in use by another process", remedy=remedy)
                time.sleep(0.2)
        except RefusedError as exc:
            self._refusal = exc
            self._stop.request()
