"""The proxy does to a line what its names say, seen from both ends of it."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from tests.fixtures.process import wait_until
from tests.fixtures.proxy import TcpProxy


class EchoServer:
    """Sends back what it gets, and remembers it."""

    def __init__(self, prefix: bytes = b"") -> None:
        self.received = bytearray()
        self.end_count = 0
        self._prefix = prefix
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        try:
            while True:
                line, _ = self._listener.accept()
                threading.Thread(target=self._echo, args=(line,), daemon=True).start()
        except OSError:
            return  # closed

    def _echo(self, line: socket.socket) -> None:
        try:
            while data := line.recv(65536):
                self.received += data
                line.sendall(self._prefix + data)
        except OSError:
            return  # reset by the proxy
        finally:
            line.close()
            self.end_count += 1


@pytest.fixture
def server() -> Iterator[EchoServer]:
    echo = EchoServer()
    yield echo
    echo.close()


@pytest.fixture
def proxy(server: EchoServer) -> Iterator[TcpProxy]:
    between = TcpProxy("127.0.0.1", server.port)
    yield between
    between.close()


@pytest.fixture
def client(proxy: TcpProxy) -> Iterator[socket.socket]:
    with connect(proxy) as line:
        wait_until(lambda: len(proxy.connections) >= 1, timeout=10, what="the proxy has the line")
        yield line


def connect(proxy: TcpProxy) -> socket.socket:
    line = socket.create_connection((proxy.host, proxy.port), timeout=10)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    return line


def echo(line: socket.socket, data: bytes) -> bytes:
    line.sendall(data)
    return receive(line, len(data))


def receive(line: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count and (more := line.recv(count - len(data))):
        data += more
    return data


def is_silent(line: socket.socket, seconds: float = 0.2) -> bool:
    line.settimeout(seconds)
    try:
        line.recv(1)
    except TimeoutError:
        return True
    finally:
        line.settimeout(10)
    return False


def test_bytes_pass_both_ways_unchanged(client: socket.socket, server: EchoServer) -> None:
    data = bytes(range(256)) * 40
    assert echo(client, data) == data
    assert server.received == data


def test_cut_resets_every_connection_at_once(proxy: TcpProxy, client: socket.socket, server: EchoServer) -> None:
    other = connect(proxy)
    assert echo(client, b"a") == b"a"
    assert echo(other, b"b") == b"b"

    assert proxy.cut() == 2

    for line in (client, other):
        with pytest.raises(ConnectionResetError):
            line.recv(1)
    assert proxy.open_connections == []
    wait_until(lambda: server.end_count == 2, timeout=10, what="the server's ends are closed too")


def test_after_a_cut_new_connections_are_accepted(proxy: TcpProxy, client: socket.socket) -> None:
    echo(client, b"a")
    proxy.cut()
    with connect(proxy) as again:
        assert echo(again, b"again") == b"again"


def test_refuse_turns_new_connections_away_and_leaves_open_ones(proxy: TcpProxy, client: socket.socket) -> None:
    echo(client, b"a")
    proxy.refuse()
    with pytest.raises(ConnectionRefusedError):
        connect(proxy)
    assert echo(client, b"still") == b"still"


def test_accept_opens_the_same_port_again(proxy: TcpProxy) -> None:
    port = proxy.port
    proxy.refuse()
    proxy.accept()
    assert proxy.port == port
    with connect(proxy) as line:
        assert echo(line, b"back") == b"back"


def test_an_absent_target_resets_the_client(proxy: TcpProxy, server: EchoServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    proxy.retarget("127.0.0.1", port)
    with pytest.raises(ConnectionResetError), connect(proxy) as line:  # connect() itself may see the reset
        line.recv(1)


def test_stall_to_server_holds_bytes_until_resume(proxy: TcpProxy, client: socket.socket, server: EchoServer) -> None:
    echo(client, b"a")
    proxy.stall("to_server")
    client.sendall(b"held")
    assert is_silent(client)
    assert server.received == b"a"

    proxy.resume("to_server")

    assert receive(client, 4) == b"held"


def test_stall_to_client_lets_the_other_direction_pass(
    proxy: TcpProxy, client: socket.socket, server: EchoServer
) -> None:
    proxy.stall("to_client")
    client.sendall(b"heard")
    wait_until(lambda: server.received == b"heard", timeout=10, what="the server gets it")
    assert is_silent(client)

    proxy.resume("to_client")

    assert receive(client, 5) == b"heard"


def test_a_stall_builds_backpressure(proxy: TcpProxy, client: socket.socket) -> None:
    echo(client, b"a")
    proxy.stall()
    client.settimeout(0.2)
    with pytest.raises(TimeoutError):
        client.sendall(b"x" * 64 * 1024 * 1024)


def test_a_stalled_line_can_be_cut(proxy: TcpProxy, client: socket.socket) -> None:
    echo(client, b"a")
    proxy.stall()
    proxy.cut()
    with pytest.raises(ConnectionResetError):
        client.recv(1)


def test_truncate_forwards_so_many_bytes_and_cuts(proxy: TcpProxy, client: socket.socket, server: EchoServer) -> None:
    proxy.truncate_after(5, "to_server")
    client.sendall(b"a frame")
    wait_until(lambda: server.end_count == 1, timeout=10, what="the server's end is cut")
    assert bytes(server.received) in (b"a fra", b"")  # a reset may overtake bytes that the server has not read
    with pytest.raises(ConnectionResetError):
        while client.recv(100):
            pass


def test_truncate_cuts_once(proxy: TcpProxy, client: socket.socket) -> None:
    echo(client, b"a")
    proxy.truncate_after(1, "to_client")
    client.sendall(b"xyz")
    wait_until(lambda: not proxy.open_connections, timeout=10, what="the line is cut")
    with connect(proxy) as again:
        assert echo(again, b"whole") == b"whole"


def test_delay_is_latency_in_each_direction(proxy: TcpProxy, client: socket.socket) -> None:
    proxy.delay(0.1)
    started = time.monotonic()
    assert echo(client, b"late") == b"late"
    assert time.monotonic() - started >= 0.2

    proxy.delay(0)

    assert echo(client, b"soon") == b"soon"


def test_throttle_limits_the_rate(proxy: TcpProxy, client: socket.socket) -> None:
    proxy.throttle(100_000, "to_client")
    started = time.monotonic()
    assert len(echo(client, b"x" * 40_000)) == 40_000
    assert time.monotonic() - started >= 0.3


def test_retarget_sends_new_connections_elsewhere(proxy: TcpProxy, client: socket.socket) -> None:
    other = EchoServer(prefix=b"other:")
    proxy.retarget("127.0.0.1", other.port)
    with connect(proxy) as line:
        line.sendall(b"who?")
        assert receive(line, 10) == b"other:who?"
    assert echo(client, b"old") == b"old"
    other.close()


def test_recording_keeps_both_directions_from_the_moment_it_is_on(proxy: TcpProxy, client: socket.socket) -> None:
    echo(client, b"before")
    proxy.record = True
    echo(client, b"after")

    [line] = proxy.connections

    assert line.recorded("to_server") == line.recorded("to_client") == b"after"


def test_the_end_of_one_direction_passes_after_its_last_byte(proxy: TcpProxy, client: socket.socket) -> None:
    client.sendall(b"last words")
    client.shutdown(socket.SHUT_WR)
    assert receive(client, 1000) == b"last words"
    wait_until(lambda: not proxy.open_connections, timeout=10, what="both ends are closed")
