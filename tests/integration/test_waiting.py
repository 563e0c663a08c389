"""What is only away is waited for, Postgres or the broker; the probes say so. Standing by: test_standby.py."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.fixtures.fix_kafka import KafkaBroker
from tests.fixtures.fix_postgres import MakePostgres
from tests.fixtures.fix_proxy import TcpProxy
from tests.fixtures.fix_relay import MakePipeline, Pipeline
from tests.fixtures.kafka_jars import find_jars
from tests.fixtures.process import wait_until
from tests.fixtures.scratch import free_port
from tests.integration.waiting_rig import assert_it_delivers, readiness, wait_for_state

pytestmark = pytest.mark.kafka


@pytest.mark.parametrize("place", [{"host": "no-such-host.invalid"}, {"port": free_port()}], ids=["host", "port"])
def test_a_relay_that_cannot_reach_postgres_is_alive_and_not_ready(pipeline: Pipeline, place: dict[str, Any]) -> None:
    relay = pipeline.start_relay(ready=False, dsn=pipeline.dsn(**place))
    wait_for_state(relay, "waiting")
    status, said = readiness(relay)
    assert (status, said["role"]) == (503, "none")
    assert "Postgres is not reachable" in said["reason"]
    assert relay.get("/livez")[0] == 200


def test_a_relay_that_cannot_reach_the_broker_is_alive_and_not_ready_and_says_the_cause(pipeline: Pipeline) -> None:
    relay = pipeline.start_relay(ready=False, bootstrap=f"127.0.0.1:{free_port()}")
    wait_for_state(relay, "waiting")
    status, said = readiness(relay)
    assert (status, said["role"]) == (503, "none")
    assert "Kafka does not answer" in said["reason"]
    assert "Connection refused" in said["reason"]
    assert relay.get("/livez")[0] == 200


@pytest.mark.core
def test_a_postgres_that_comes_up_later_is_read_from_where_the_slot_is(
    make_postgres: MakePostgres, make_pipeline: MakePipeline
) -> None:
    server = make_postgres()
    pipeline = make_pipeline(server=server)
    event_id = pipeline.insert()
    server.stop()
    relay = pipeline.start_relay(ready=False)
    wait_for_state(relay, "waiting")
    server.start()
    assert_it_delivers(pipeline, event_id)
    assert readiness(relay)[0] == 200


@pytest.fixture(scope="module")
def broker() -> Iterator[tuple[KafkaBroker, TcpProxy]]:
    """A broker, and the proxy in front of it that lets nobody through."""
    jars = find_jars()
    assert isinstance(jars, Path)  # the mark real_kafka has seen to it
    proxy = TcpProxy()
    kafka = KafkaBroker(jars, proxy_port=proxy.port)
    proxy.retarget("127.0.0.1", kafka.behind_proxy_port)
    try:
        kafka.start()
        yield kafka, proxy
    finally:
        kafka.destroy()
        proxy.close()


@pytest.fixture
def unreachable(broker: tuple[KafkaBroker, TcpProxy], make_pipeline: MakePipeline) -> tuple[Pipeline, TcpProxy]:
    """A pipeline, and the proxy to its broker, which refuses connections until it is told to accept()."""
    kafka, proxy = broker
    proxy.refuse()
    return make_pipeline(kafka=kafka), proxy


@pytest.mark.real_kafka
def test_a_broker_that_comes_up_later_gets_what_was_committed_meanwhile(unreachable: tuple[Pipeline, TcpProxy]) -> None:
    pipeline, proxy = unreachable
    relay = pipeline.start_relay(ready=False, bootstrap=proxy.address)
    wait_for_state(relay, "waiting")
    event_id = pipeline.insert()
    proxy.accept()
    assert_it_delivers(pipeline, event_id)
    assert readiness(relay)[0] == 200


@pytest.mark.real_kafka
def test_the_brokers_complaint_is_forgotten_once_it_answers(unreachable: tuple[Pipeline, TcpProxy]) -> None:
    pipeline, proxy = unreachable
    relay = pipeline.start_relay(ready=False, bootstrap=proxy.address)
    wait_for_state(relay, "waiting")
    proxy.accept()
    wait_for_state(relay, "streaming")
    wait_until(lambda: readiness(relay)[1]["sink_error"] == "", timeout=15, what="the complaint is gone")


@pytest.mark.core
def test_a_server_without_a_free_walsender_is_waited_for(
    make_postgres: MakePostgres, make_pipeline: MakePipeline
) -> None:
    server = make_postgres(max_wal_senders=1)
    pipeline = make_pipeline(server=server)
    event_id = pipeline.insert()
    with psycopg.connect(pipeline.database.dsn(replication="database"), autocommit=True):
        relay = pipeline.start_relay(ready=False)
        wait_for_state(relay, "waiting")
    assert_it_delivers(pipeline, event_id)


class StartingServer:
    """Says "starting up" to the first client; passes all others on to the real server, which is up by then."""

    def __init__(self, target_port: int) -> None:
        self.port = free_port()
        self.refused_count = 0
        self._target_port = target_port
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._serve, name="starting server", daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self.refused_count:
                self._join(client, socket.create_connection(("127.0.0.1", self._target_port)))
            else:
                self._refuse(client)
                self.refused_count += 1

    def _refuse(self, client: socket.socket) -> None:
        with client:
            client.recv(8192)  # the startup packet
            fields = b"SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0"
            client.sendall(b"E" + struct.pack(">I", len(fields) + 4) + fields)

    def _join(self, client: socket.socket, server: socket.socket) -> None:
        for source, target in ((client, server), (server, client)):
            threading.Thread(target=_pump, args=(source, target), name="starting server", daemon=True).start()


def _pump(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        return


@pytest.fixture
def starting_server(pipeline: Pipeline) -> Iterator[StartingServer]:
    server = StartingServer(pipeline.database.server.port)
    yield server
    server.close()


def test_a_server_that_was_starting_a_moment_ago_is_tried_again(
    pipeline: Pipeline, starting_server: StartingServer
) -> None:
    """Between the refusal and the question whether it was meant for good, the server may have come up."""
    dsn = pipeline.dsn(port=starting_server.port, sslmode="disable", gssencmode="disable")
    pipeline.start_relay(dsn=dsn)
    assert starting_server.refused_count == 1
