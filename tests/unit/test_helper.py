"""The helper thread: what may block is done there, in order, and whoever asked gets result or exception."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from functools import partial

import pytest
from structlog.testing import capture_logs

from cdc_relay.bell import Bell
from cdc_relay.errors import AwayError
from cdc_relay.helper import Helper
from cdc_relay.logs.shape import tell_error
from tests.fixtures.process import wait_until

PATIENCE = 30.0


class Silence:
    """Nothing to watch."""

    def fileno(self) -> int | None:
        return None

    def look(self) -> None:
        raise AssertionError("there is nothing to look at")


class Connection:
    """One end of a socket pair; a look reads what came and says so."""

    def __init__(self) -> None:
        self.here, self.there = socket.socketpair()
        self.heard: list[bytes] = []
        self.looked = threading.Semaphore(0)
        self.thread = ""

    def fileno(self) -> int | None:
        return self.here.fileno() if self.here.fileno() >= 0 else None

    def look(self) -> None:
        self.thread = threading.current_thread().name
        data = self.here.recv(100)
        self.heard.append(data)
        if not data:
            self.here.close()
        self.looked.release()


@pytest.fixture
def helper() -> Iterator[Helper]:
    helper = Helper(Silence())
    yield helper
    helper.close()


@pytest.fixture
def connection() -> Connection:
    return Connection()


@pytest.fixture
def watching(connection: Connection) -> Iterator[Helper]:
    helper = Helper(connection)
    yield helper
    helper.close()


def test_a_job_s_result_reaches_the_one_who_asked(helper: Helper) -> None:
    assert helper.submit(lambda: 42).result(PATIENCE) == 42


def test_a_job_runs_on_the_helper_s_own_thread(helper: Helper) -> None:
    assert helper.submit(threading.get_ident).result(PATIENCE) != threading.get_ident()


def test_jobs_run_in_the_order_they_were_handed_in(helper: Helper) -> None:
    done: list[int] = []
    futures = [helper.submit(partial(done.append, number)) for number in range(1000)]
    futures[-1].result(PATIENCE)
    assert done == list(range(1000))


def test_submitting_does_not_wait_for_a_job_that_blocks(helper: Helper) -> None:
    gate = threading.Event()
    blocked = helper.submit(lambda: gate.wait(PATIENCE))
    futures = [helper.submit(lambda: None) for _ in range(5_000)]  # more rings than the bell's socket takes
    assert not blocked.done()
    gate.set()
    futures[-1].result(PATIENCE)


def test_an_exception_reaches_the_one_who_asked_and_nobody_else(helper: Helper) -> None:
    def fail() -> None:
        raise AwayError("no catalog")

    failed, next_one = helper.submit(fail), helper.submit(lambda: "fine")
    assert isinstance(failed.exception(PATIENCE), AwayError)
    assert next_one.result(PATIENCE) == "fine"


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_not_even_an_exit_ends_the_helper(helper: Helper, error: BaseException) -> None:
    def leave() -> None:
        raise error

    assert helper.submit(leave).exception(PATIENCE) is error
    assert helper.submit(lambda: "fine").result(PATIENCE) == "fine"


def test_a_cancelled_job_is_not_run(helper: Helper) -> None:
    gate, ran = threading.Event(), threading.Event()
    helper.submit(lambda: gate.wait(PATIENCE))
    cancelled = helper.submit(ran.set)
    assert cancelled.cancel()
    gate.set()
    helper.submit(lambda: None).result(PATIENCE)
    assert not ran.is_set()


def test_what_a_watched_connection_says_unasked_is_looked_at(watching: Helper, connection: Connection) -> None:
    connection.there.send(b"terminating connection")
    assert connection.looked.acquire(timeout=PATIENCE)
    assert connection.heard == [b"terminating connection"]
    assert connection.thread == "cdc-relay-helper"


def test_a_watched_connection_that_closed_is_looked_at_once(watching: Helper, connection: Connection) -> None:
    connection.there.close()
    assert connection.looked.acquire(timeout=PATIENCE)
    assert watching.submit(lambda: "fine").result(PATIENCE) == "fine"
    assert connection.heard == [b""]


def test_jobs_are_done_while_a_connection_is_watched(watching: Helper, connection: Connection) -> None:
    assert [watching.submit(lambda: "fine").result(PATIENCE) for _ in range(10)] == ["fine"] * 10
    connection.there.send(b"bye")
    assert connection.looked.acquire(timeout=PATIENCE)


def test_a_connection_opened_by_a_job_is_watched_from_then_on() -> None:
    opened: list[Connection] = []

    class Later(Silence):
        def fileno(self) -> int | None:
            return opened[0].fileno() if opened else None

        def look(self) -> None:
            opened[0].look()

    helper = Helper(Later())
    helper.submit(lambda: opened.append(Connection())).result(PATIENCE)
    opened[0].there.send(b"bye")
    assert opened[0].looked.acquire(timeout=PATIENCE)
    helper.close()


def test_closing_waits_for_what_is_handed_in() -> None:
    helper = Helper(Silence())
    future = helper.submit(lambda: "done")
    helper.close(PATIENCE)
    assert future.result(0) == "done"
    assert not helper._thread.is_alive()


def test_closing_does_not_wait_for_ever_for_a_stuck_job() -> None:
    helper, gate = Helper(Silence()), threading.Event()
    stuck: Future[bool] = helper.submit(lambda: gate.wait(PATIENCE))
    helper.close(0.05)
    assert not stuck.done()
    assert helper._thread.daemon  # so it cannot keep the process either
    gate.set()


class Raising:
    """A watched connection on which looking fails."""

    def __init__(self) -> None:
        self.here, self.there = socket.socketpair()
        self.there.send(b"!")

    def fileno(self) -> int:
        return self.here.fileno()

    def look(self) -> None:
        self.here.recv(1)
        raise ValueError("the connection is lost")


def test_a_look_that_fails_is_said_by_type_and_place_and_without_the_values_it_quotes() -> None:
    with capture_logs() as lines:
        helper = Helper(Raising())
        wait_until(lambda: bool(lines), timeout=PATIENCE, what="a line")
        helper.close()
    line = tell_error(None, "warning", lines[0])
    assert (line["event"], line["error"]) == ("watch_failed", "ValueError")
    assert line["at"].startswith("unit/test_helper.py:")
    assert "the connection is lost" not in repr(line)


def test_a_look_that_fails_does_not_end_the_helper() -> None:
    watched = Raising()
    helper = Helper(watched)
    assert helper.submit(lambda: "done").result(timeout=10) == "done"
    watched.there.send(b"!")
    assert helper.submit(lambda: "again").result(timeout=10) == "again"
    helper.close()


def test_a_bell_tells_when_a_job_is_done() -> None:
    bell = Bell()
    helper = Helper(Silence(), bell=bell)
    future = helper.submit(lambda: "done")
    select.select([bell.fileno()], [], [], PATIENCE)
    assert future.done()
    helper.close()


def test_a_bell_tells_of_a_job_that_failed() -> None:
    bell = Bell()
    helper = Helper(Silence(), bell=bell)
    future = helper.submit(lambda: 1 / 0)
    select.select([bell.fileno()], [], [], PATIENCE)
    assert isinstance(future.exception(0), ZeroDivisionError)
    helper.close()


def test_a_bell_tells_of_what_a_watched_connection_said(connection: Connection) -> None:
    bell = Bell()
    helper = Helper(connection, bell=bell)
    connection.there.send(b"notification")
    assert select.select([bell.fileno()], [], [], PATIENCE)[0]
    assert connection.heard == [b"notification"]
    helper.close()


def test_each_of_several_connections_is_watched() -> None:
    first, second = Connection(), Connection()
    helper = Helper(first, second)
    second.there.send(b"two")
    assert second.looked.acquire(timeout=PATIENCE)
    first.there.send(b"one")
    assert first.looked.acquire(timeout=PATIENCE)
    assert (first.heard, second.heard) == ([b"one"], [b"two"])
    helper.close()
