"""A connection in which every wait has a limit and every failure is one of our errors, on a real server."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from cdc_relay.errors import AwayError, RefusedError, SourceError
from cdc_relay.sources import line as line_module
from cdc_relay.sources.line import Line, QueryError
from tests.fixtures.fix_postgres import Database, MakePostgres
from tests.fixtures.fix_proxy import MakeProxy
from tests.fixtures.process import wait_until
from tests.fixtures.scratch import free_port

pytestmark = pytest.mark.core


@pytest.fixture
def line(database: Database) -> Iterator[Line]:
    line = Line.open(database.dsn())
    yield line
    line.close()


def terminate(database: Database, line: Line) -> None:
    database.server.execute("SELECT pg_terminate_backend(%s, 30000)", [line.backend_pid])


# --- asking


def test_values_come_as_postgres_prints_them(line: Line) -> None:
    assert line.query("SELECT 1, 1.10, NULL, '', true, 'ä€𝄞', '\\xff'::bytea") == [
        ("1", "1.10", None, "", "t", "ä€𝄞", "\\xff")
    ]


def test_every_row_comes_in_order(line: Line) -> None:
    rows = line.query("SELECT n FROM generate_series(1, 5000) AS n ORDER BY n")
    assert rows == [(str(number),) for number in range(1, 5001)]


def test_a_statement_without_rows_has_none(line: Line) -> None:
    assert line.query("CREATE TEMP TABLE t (a int)") == []
    assert line.query("SELECT a FROM t") == []


def test_parameters_are_values_and_never_sql(line: Line) -> None:
    hostile = """'; DROP TABLE x; -- "ä" \\ $1"""
    assert line.query("SELECT $1::text, $2::text, $3::int + 1", [hostile, None, "41"]) == [(hostile, None, "42")]


def test_a_large_answer_and_a_large_question_pass(line: Line) -> None:
    large = "x" * 5_000_000
    assert line.query("SELECT $1::text", [large]) == [(large,)]


def test_the_last_of_several_statements_answers(line: Line) -> None:
    assert line.query("SET datestyle = 'ISO'; SELECT 1; SELECT 2") == [("2",)]


# --- errors


def test_an_error_has_its_sqlstate_and_the_server_s_words(line: Line) -> None:
    with pytest.raises(QueryError) as raised:
        line.query("SELECT * FROM no_such_table")
    assert raised.value.sqlstate == "42P01"
    assert raised.value.message == 'relation "no_such_table" does not exist'


@pytest.mark.parametrize(
    ("sql", "params", "sqlstate"),
    [
        ("SELEC", [], "42601"),
        ("SELECT 1/0", [], "22012"),
        ("SELECT $1::int", ["x"], "22P02"),
        ("SELECT 1; SELECT 1/0; SELECT 2", [], "22012"),
        ("DO $$ BEGIN RAISE EXCEPTION USING errcode = 'ZZ001'; END $$", [], "ZZ001"),
    ],
)
def test_a_line_is_usable_after_an_error(line: Line, sql: str, params: list[str | None], sqlstate: str) -> None:
    with pytest.raises(QueryError) as raised:
        line.query(sql, params)
    assert raised.value.sqlstate == sqlstate
    assert line.query("SELECT 'still here'") == [("still here",)]
    assert not line.is_broken()


def test_a_query_error_is_a_source_error() -> None:
    assert issubclass(QueryError, SourceError)


# --- limits


def test_an_answer_that_does_not_come_in_time_is_an_error(line: Line) -> None:
    started = time.monotonic()
    with pytest.raises(SourceError, match="in time"):
        line.query("SELECT pg_sleep(30)", timeout_seconds=0.3)
    assert time.monotonic() - started < 5


def test_a_late_answer_is_never_taken_for_the_next_one_s(line: Line) -> None:
    with pytest.raises(SourceError, match="in time"):
        line.query("SELECT 'late', pg_sleep(0.5)", timeout_seconds=0.1)
    with pytest.raises(SourceError):
        line.query("SELECT 'next'")


def test_a_quick_answer_is_not_waited_for(line: Line) -> None:
    line.query("SELECT 1")
    started = time.monotonic()
    for _ in range(20):
        line.query("SELECT 1")
    assert time.monotonic() - started < 2


def test_a_stalled_server_is_given_up_in_time(database: Database, make_proxy: MakeProxy) -> None:
    proxy = make_proxy("127.0.0.1", database.server.port)
    line = Line.open(database.dsn(port=proxy.port, connect_timeout=5))
    proxy.stall()
    with pytest.raises(SourceError, match="in time"):
        line.query("SELECT 1", timeout_seconds=0.3)
    line.close()


# --- the end of a connection


def test_a_healthy_line_is_not_broken(line: Line) -> None:
    assert not line.is_broken()
    line.query("SELECT 1")
    assert not line.is_broken()


def test_a_terminated_backend_is_noticed_without_asking_it(database: Database, line: Line) -> None:
    terminate(database, line)
    wait_until(line.is_broken, timeout=30, what="the line is seen broken")


def test_a_query_on_a_terminated_backend_is_a_source_error(database: Database, line: Line) -> None:
    terminate(database, line)
    with pytest.raises(SourceError) as raised:
        line.query("SELECT 1")
    assert "\n" not in raised.value.message
    with pytest.raises(SourceError):
        line.query("SELECT 1")  # and so is every later one


def test_a_line_cut_in_the_middle_of_an_answer_is_a_source_error(database: Database, make_proxy: MakeProxy) -> None:
    proxy = make_proxy("127.0.0.1", database.server.port)
    line = Line.open(database.dsn(port=proxy.port, connect_timeout=5))
    proxy.truncate_after(10_000, "to_client")
    with pytest.raises(SourceError, match="broke"):
        line.query("SELECT repeat('x', 1000000)")
    line.close()


def test_a_line_is_closed_for_postgres_too(database: Database) -> None:
    line = Line.open(database.dsn())
    pid = line.backend_pid
    line.close()
    gone = "SELECT FROM pg_stat_activity WHERE pid = %s"
    wait_until(lambda: not database.server.execute(gone, [pid]), timeout=30, what="the backend is gone")


# --- opening


def test_nobody_listening_is_away(database: Database) -> None:
    with pytest.raises(AwayError, match="not reachable") as raised:
        Line.open(database.dsn(port=free_port()))
    assert "source.dsn" in raised.value.remedy


def test_an_unknown_host_is_away(database: Database) -> None:
    with pytest.raises(AwayError, match="not reachable"):
        Line.open(database.dsn(host="no-such-host.invalid"))


def test_a_server_that_never_answers_is_away_within_the_limit(database: Database, make_proxy: MakeProxy) -> None:
    proxy = make_proxy("127.0.0.1", database.server.port)
    proxy.stall()
    started = time.monotonic()
    with pytest.raises(AwayError, match="not reachable"):
        Line.open(database.dsn(port=proxy.port, connect_timeout=2))
    assert time.monotonic() - started < 10


def test_a_connection_attempt_has_a_limit_where_nobody_sets_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGCONNECT_TIMEOUT", "")  # remembered as it was, and put back: opening a line sets it
    monkeypatch.delenv("PGCONNECT_TIMEOUT")
    monkeypatch.setattr(line_module, "_CONNECT_SECONDS", "2")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        started = time.monotonic()
        with pytest.raises(AwayError, match="not reachable"):
            Line.open(f"host=127.0.0.1 port={silent.getsockname()[1]}")
    assert time.monotonic() - started < 10


def test_connecting_does_not_freeze_the_other_threads() -> None:
    """The helper connects while the loop has to go on: a library call that keeps the interpreter would stop both."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        conninfo = f"host=127.0.0.1 port={silent.getsockname()[1]} connect_timeout=2"
        gate = threading.Event()

        def connect() -> None:
            gate.wait(30)
            with pytest.raises(AwayError):
                Line.open(conninfo)

        thread = threading.Thread(target=connect)
        thread.start()
        stood_still, seen_at = 0.0, time.monotonic()
        gate.set()
        while thread.is_alive():
            thread.join(0.01)
            stood_still, seen_at = max(stood_still, time.monotonic() - seen_at), time.monotonic()
    assert stood_still < 1


@pytest.mark.parametrize("who", [{"user": "no_such_role"}, {"dbname": "no_such_database"}], ids=["role", "database"])
def test_a_server_that_says_no_is_a_refusal_with_a_remedy(database: Database, who: dict[str, str]) -> None:
    dsn = database.server.dsn(**{"dbname": database.name, **who, "password": "sesame"})
    with pytest.raises(RefusedError, match="does not exist") as raised:
        Line.open(dsn)
    assert "source.dsn" in raised.value.remedy
    assert "sesame" not in str(raised.value)


def test_of_several_hosts_each_must_refuse(database: Database, make_postgres: MakePostgres) -> None:
    """One that is away may come back as the primary, whatever the others say."""
    port, absent, other = database.server.port, free_port(), make_postgres()

    def open_at(*ports: int) -> None:
        hosts = ",".join(["127.0.0.1"] * len(ports))
        Line.open(database.dsn("no_such_role", host=hosts, port=",".join(map(str, ports))))

    for ports in ((port, absent), (absent, port)):
        with pytest.raises(AwayError, match=r"does not exist.*Connection refused|Connection refused.*does not exist"):
            open_at(*ports)
    with pytest.raises(RefusedError, match="no_such_role"):
        open_at(port, other.port)


def test_a_server_without_a_free_connection_is_away(make_postgres: MakePostgres) -> None:
    server = make_postgres(max_connections=5, superuser_reserved_connections=0, max_wal_senders=2)
    taken: list[Line] = []
    with pytest.raises(AwayError) as raised:
        for _ in range(6):
            taken.append(Line.open(server.dsn()))
    assert "max_connections" in raised.value.remedy
    for line in taken:
        line.close()
