"""The server on a real socket: paths, methods, busy ports, slow clients."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator

import pytest

from cdc_relay.errors import RefusedError
from cdc_relay.http import server as server_module
from cdc_relay.http.server import HttpServer
from cdc_relay.stats import State, Stats

LOCAL = "127.0.0.1"
ANSWER_SECONDS = 10


@pytest.fixture
def stats() -> Stats:
    return Stats(slot="orders")


@pytest.fixture
def server(stats: Stats) -> Iterator[HttpServer]:
    server = HttpServer((LOCAL, 0), stats)
    assert server.start()
    yield server
    server.close()


def ask(server: HttpServer, path: str, *, method: str = "GET", accept: str = "*/*") -> tuple[int, str, bytes]:
    connection = http.client.HTTPConnection(LOCAL, server.port, timeout=ANSWER_SECONDS)
    try:
        connection.request(method, path, headers={"Accept": accept})
        response = connection.getresponse()
        return response.status, response.headers["Content-Type"], response.read()
    finally:
        connection.close()


def open_socket(server: HttpServer) -> socket.socket:
    return socket.create_connection((LOCAL, server.port), timeout=ANSWER_SECONDS)


def read_until_closed(connection: socket.socket) -> bytes:
    chunks = []
    try:
        while chunk := connection.recv(4096):
            chunks.append(chunk)
    except ConnectionResetError:
        pass  # closed all the same
    return b"".join(chunks)


def test_livez_is_200_at_start(server: HttpServer) -> None:
    status, content_type, body = ask(server, "/livez")
    assert (status, content_type) == (200, "application/json")
    assert json.loads(body)["status"] == "ok"


def test_livez_is_503_when_the_loop_is_stuck(server: HttpServer, stats: Stats) -> None:
    stats.last_turn_at -= 31
    status, _, body = ask(server, "/livez")
    assert status == 503
    assert "not turned" in json.loads(body)["reason"]


def test_readyz_follows_the_state(server: HttpServer, stats: Stats) -> None:
    assert ask(server, "/readyz")[0] == 503
    stats.enter(State.STREAMING)
    assert ask(server, "/readyz")[0] == 200
    stats.enter(State.RELEASED, "the broker does not answer")
    status, _, body = ask(server, "/readyz")
    assert (status, json.loads(body)["reason"]) == (503, "the broker does not answer")


def test_standby_is_ready_with_its_role(server: HttpServer, stats: Stats) -> None:
    stats.enter(State.STANDBY, "slot in use by pid 7")
    status, _, body = ask(server, "/readyz")
    assert (status, json.loads(body)["role"]) == (200, "standby")


def test_metrics_are_text_for_prometheus(server: HttpServer, stats: Stats) -> None:
    stats.transaction_count = 12
    status, content_type, body = ask(server, "/metrics")
    assert status == 200
    assert content_type.startswith("text/plain")
    assert b'outbox_transactions_total{service="orders"} 12.0' in body


def test_metrics_are_openmetrics_for_who_asks(server: HttpServer) -> None:
    _, content_type, body = ask(server, "/metrics", accept="application/openmetrics-text; version=1.0.0")
    assert content_type.startswith("application/openmetrics-text")
    assert body.endswith(b"# EOF\n")


def test_a_query_string_does_not_hide_the_path(server: HttpServer) -> None:
    assert ask(server, "/livez?verbose=1")[0] == 200


def test_unknown_path_lists_the_known_ones(server: HttpServer) -> None:
    status, _, body = ask(server, "/nothing")
    assert status == 404
    assert json.loads(body)["paths"] == ["/livez", "/metrics", "/readyz", "/status"]


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/metrics", "/status", "/nothing"])
def test_head_answers_like_get_without_a_body(server: HttpServer, path: str) -> None:
    status, content_type, body = ask(server, path, method="HEAD")
    assert (status, content_type) == ask(server, path)[:2]
    assert body == b""


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_other_methods_are_refused(server: HttpServer, method: str) -> None:
    assert ask(server, "/livez", method=method)[0] == 405


def test_garbage_is_answered_and_does_no_harm(server: HttpServer) -> None:
    with open_socket(server) as connection:
        connection.sendall(b"\x16\x03\x01 not http\r\n\r\n")
        read_until_closed(connection)
    assert ask(server, "/livez")[0] == 200


def test_requests_leave_no_lines_on_stderr(server: HttpServer, capfd: pytest.CaptureFixture[str]) -> None:
    ask(server, "/livez")
    ask(server, "/nothing")
    assert capfd.readouterr() == ("", "")


def test_a_busy_port_is_not_an_error_and_start_can_be_repeated(server: HttpServer, stats: Stats) -> None:
    second = HttpServer((LOCAL, server.port), stats)
    assert not second.start()
    assert not second.start()
    server.close()
    assert second.start()
    assert ask(second, "/livez")[0] == 200
    second.close()


def test_start_twice_keeps_the_listener(server: HttpServer) -> None:
    port = server.port
    assert server.start()
    assert server.port == port


def test_close_frees_the_port_and_may_be_repeated(server: HttpServer) -> None:
    port = server.port
    server.close()
    server.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((LOCAL, port), timeout=ANSWER_SECONDS)


def test_port_before_the_start_is_the_configured_one(stats: Stats) -> None:
    assert HttpServer((LOCAL, 9464), stats).port == 9464


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid"])
def test_an_address_that_is_not_ours_is_refused(stats: Stats, host: str) -> None:
    with pytest.raises(RefusedError, match=r"http\.listen") as refused:
        HttpServer((host, 9464), stats).start()
    assert "http.listen" in refused.value.remedy


def test_ipv6_is_served(stats: Stats) -> None:
    server = HttpServer(("::1", 0), stats)
    try:
        assert server.start()
    except RefusedError:
        pytest.skip("no IPv6 on this machine")
    with socket.create_connection(("::1", server.port), timeout=ANSWER_SECONDS) as connection:
        connection.sendall(b"GET /livez HTTP/1.0\r\n\r\n")
        assert b" 200 " in read_until_closed(connection)
    server.close()


def test_a_silent_client_is_dropped(monkeypatch: pytest.MonkeyPatch, server: HttpServer) -> None:
    monkeypatch.setattr(server_module._Handler, "timeout", 0.05)
    with open_socket(server) as connection:
        assert read_until_closed(connection) == b""


def test_a_trickling_client_is_dropped(monkeypatch: pytest.MonkeyPatch, server: HttpServer) -> None:
    monkeypatch.setattr(server_module, "CONNECTION_LIMIT_SECONDS", 0.05)
    with open_socket(server) as connection:
        connection.sendall(b"GET /livez")
        assert read_until_closed(connection) == b""


def test_slow_clients_do_not_delay_others(server: HttpServer) -> None:
    with open_socket(server), open_socket(server):
        assert ask(server, "/livez")[0] == 200


def test_connections_are_bounded(monkeypatch: pytest.MonkeyPatch, server: HttpServer) -> None:
    monkeypatch.setattr(server_module, "CONNECTION_LIMIT", 1)
    with open_socket(server) as first, open_socket(server) as second:
        assert read_until_closed(second) == b""
        first.sendall(b"GET /livez HTTP/1.0\r\n\r\n")
        assert b" 200 " in read_until_closed(first)


def test_close_ends_with_a_connection_still_open(server: HttpServer) -> None:
    with open_socket(server):
        closing = threading.Thread(target=server.close)
        closing.start()
        closing.join(timeout=ANSWER_SECONDS)
        assert not closing.is_alive()
