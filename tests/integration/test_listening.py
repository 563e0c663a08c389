"""Where the real process can be reached: on this machine alone, unless its file says otherwise."""

from __future__ import annotations

import socket

import psutil  # type: ignore[import-untyped]  # carries no types
import pytest

from tests.fixtures.fix_relay import MakeRelay, Pipeline
from tests.fixtures.process import wait_until
from tests.fixtures.scratch import free_port

pytestmark = pytest.mark.kafka

DEFAULT = ("127.0.0.1", 9464)


def listening(pid: int) -> set[tuple[str, int]]:
    lines = psutil.net_connections(kind="inet")
    return {(line.laddr.ip, line.laddr.port) for line in lines if line.pid == pid and line.status == psutil.CONN_LISTEN}


def is_free(address: tuple[str, int]) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(address) != 0


def test_without_a_word_on_http_it_listens_on_this_machine_alone(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    if not is_free(DEFAULT):
        pytest.skip("another process of this machine has the default port")
    config = pipeline.config(http=None)
    assert "http" not in config
    relay = make_relay(config)
    wait_until(lambda: bool(listening(relay.pid)), timeout=30, what="it listens")
    relay.wait_for_log('"state": "streaming"')
    assert listening(relay.pid) == {DEFAULT}


def test_it_listens_where_its_file_says_and_nowhere_else(pipeline: Pipeline) -> None:
    address = ("127.0.0.1", free_port())
    relay = pipeline.start_relay(http={"listen": f"{address[0]}:{address[1]}"})
    assert listening(relay.pid) == {address}


def test_switched_off_it_listens_nowhere(pipeline: Pipeline) -> None:
    relay = pipeline.start_relay(ready=False, http={"listen": "off"})
    relay.wait_for_log('"state": "streaming"')
    assert listening(relay.pid) == set()
