"""The HTTP server beside the loop: sockets, threads and time limits. What a path answers is in `pages`."""

from __future__ import annotations

import errno
import socket
import threading
import time
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import structlog

from cdc_relay.errors import RefusedError
from cdc_relay.http.pages import Page, answer, build_pages
from cdc_relay.stats import Stats

__all__ = ["HttpServer"]

IDLE_LIMIT_SECONDS = 5.0  # a client that sends or takes nothing for so long is dropped
CONNECTION_LIMIT_SECONDS = 15.0  # ... and one that trickles, after this
CONNECTION_LIMIT = 32  # threads; a connection above it is closed at once
POLL_SECONDS = 0.2  # how long close() may wait for the accepting thread

_log = structlog.get_logger(__name__)


class HttpServer:
    """Serves in daemon threads, only reads `Stats`, and never raises into the loop once it has started."""

    def __init__(self, address: tuple[str, int], stats: Stats) -> None:
        self._address = address
        self._pages = build_pages(stats)
        self._listener: _Listener | None = None

    @property
    def port(self) -> int:
        return self._listener.server_port if self._listener else self._address[1]

    def start(self) -> bool:
        """False when the port is busy (a standby beside its reader): call again after taking over."""
        if self._listener is None:
            self._listener = self._bind()
        return self._listener is not None

    def close(self) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.shutdown()
            listener.server_close()

    def _bind(self) -> _Listener | None:
        try:
            listener = _Listener(self._address, self._pages)
        except OSError as exc:
            if exc.errno == errno.EADDRINUSE:
                return None
            raise _refuse_address(self._address, exc) from exc
        serve = partial(listener.serve_forever, poll_interval=POLL_SECONDS)
        threading.Thread(target=serve, name="cdc-relay-http", daemon=True).start()
        return listener


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 32

    def __init__(self, address: tuple[str, int], pages: dict[str, Page]) -> None:
        self.address_family, bindable = _resolve(address)
        self._opened_at: dict[socket.socket, float] = {}
        super().__init__(bindable, partial(_Handler, pages))

    def server_bind(self) -> None:
        # The inherited one asks the DNS for its own full name, which may block for seconds.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def verify_request(self, request: Any, client_address: Any) -> bool:
        return len(self._opened_at) < CONNECTION_LIMIT

    def process_request(self, request: Any, client_address: Any) -> None:
        self._opened_at[request] = time.monotonic()
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._opened_at.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Runs at every poll: wakes the threads of connections that are past their deadline."""
        too_old = time.monotonic() - CONNECTION_LIMIT_SECONDS
        for connection, opened_at in list(self._opened_at.items()):
            if opened_at < too_old:
                _hang_up(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        _log.exception("http_request_failed")


class _Handler(BaseHTTPRequestHandler):
    server_version = "cdc-relay"
    sys_version = ""
    timeout = IDLE_LIMIT_SECONDS

    def __init__(self, pages: dict[str, Page], *args: Any) -> None:
        self._pages = pages
        super().__init__(*args)  # handles the request

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:
            self.close_connection = True  # the client left, or took too long

    def finish(self) -> None:
        try:
            super().finish()
        except OSError:
            self.close_connection = True

    def do_GET(self) -> None:
        response = answer(self._pages, self.path, self.headers.get("Accept", ""))
        self._send(response.status, response.content_type, response.body)

    do_HEAD = do_GET  # noqa: N815 - the body is left out in _send

    def _refuse_method(self) -> None:
        body = b"this server only reads: GET and HEAD\n"
        self._send(HTTPStatus.METHOD_NOT_ALLOWED, "text/plain; charset=utf-8", body, allow="GET, HEAD")

    do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _refuse_method  # noqa: N815 - as above

    def _send(self, status: HTTPStatus, content_type: str, body: bytes, *, allow: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        if allow:
            self.send_header("Allow", allow)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the overridden argument
        """No access log: a probe every second would drown the relay's own lines."""


def _resolve(address: tuple[str, int]) -> tuple[socket.AddressFamily, Any]:
    host, port = address
    found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, _, _, _, bindable = min(found, key=lambda entry: entry[0] != socket.AF_INET)  # `localhost`: 127.0.0.1
    return family, bindable


def _hang_up(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # its thread was faster


def _refuse_address(address: tuple[str, int], exc: OSError) -> RefusedError:
    host, port = address
    return RefusedError(
        f"cannot listen on {host}:{port} (http.listen): {exc.strerror or exc}",
        remedy="set http.listen to an address of this machine and a port that this user may open",
    )
