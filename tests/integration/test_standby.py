"""A relay whose slot another process reads stands by: alive, ready and silent, until it takes over."""

from __future__ import annotations

import pytest

from tests.fixtures.fix_relay import Pipeline, RelayProcess
from tests.fixtures.process import wait_until
from tests.integration.waiting_rig import assert_it_delivers, readiness, wait_for_state

pytestmark = pytest.mark.kafka


@pytest.fixture
def reader(pipeline: Pipeline) -> RelayProcess:
    """The relay that has the slot."""
    return pipeline.start_relay()


@pytest.fixture
def standby(pipeline: Pipeline, reader: RelayProcess) -> RelayProcess:
    """A second relay for the same slot."""
    relay = pipeline.start_relay(ready=False)
    wait_for_state(relay, "standby")
    return relay


def test_a_standby_is_alive_and_ready_and_says_that_it_stands_by(standby: RelayProcess) -> None:
    status, said = readiness(standby)
    assert (status, said["role"], said["state"]) == (200, "standby", "standby")
    assert "is in use" in said["reason"]
    assert standby.get("/livez")[0] == 200


def test_a_standby_takes_over_when_the_reader_stops(
    pipeline: Pipeline, reader: RelayProcess, standby: RelayProcess
) -> None:
    assert reader.stop() == 0
    wait_for_state(standby, "streaming")
    assert_it_delivers(pipeline, pipeline.insert())
    assert readiness(standby)[1]["role"] == "reader"


@pytest.mark.core
def test_a_standby_takes_over_when_the_reader_is_killed(
    pipeline: Pipeline, reader: RelayProcess, standby: RelayProcess
) -> None:
    reader.kill()
    wait_for_state(standby, "streaming")
    assert_it_delivers(pipeline, pipeline.insert())


def test_a_standby_publishes_nothing_while_it_stands_by(
    pipeline: Pipeline, reader: RelayProcess, standby: RelayProcess
) -> None:
    event_id = pipeline.insert()
    assert_it_delivers(pipeline, event_id)
    assert standby.metric("outbox_published_total") == 0


@pytest.fixture
def neighbour(pipeline: Pipeline, reader: RelayProcess) -> RelayProcess:
    """A standby on the same host with the same file: the reader has its HTTP port."""
    relay = pipeline.start_relay(ready=False, http=reader.config["http"])
    relay.wait_for_log('"state": "standby"')
    return relay


def test_a_busy_http_port_is_only_warned_of_while_standing_by(neighbour: RelayProcess) -> None:
    assert "http_port_busy" in neighbour.stderr
    assert neighbour.is_running


def test_a_standby_serves_the_readers_http_port_after_taking_over(
    reader: RelayProcess, neighbour: RelayProcess
) -> None:
    reader.kill()
    wait_for_state(neighbour, "streaming")


def test_a_standby_that_takes_over_waits_for_a_reader_that_still_closes_its_port(
    pipeline: Pipeline, reader: RelayProcess, neighbour: RelayProcess
) -> None:
    """A reader that stops gives the slot free before its port: held there for longer than the standby's next try."""
    reader.terminate()
    in_use = "SELECT active FROM pg_replication_slots WHERE slot_name = %s"
    with pipeline.database.connect() as conn:
        wait_until(
            lambda: conn.execute(in_use, [pipeline.slot]).fetchone() == (False,),
            timeout=30,
            every=0.001,
            what="the slot is free",
        )
        reader.pause()
        wait_until(
            lambda: not neighbour.is_running or conn.execute(in_use, [pipeline.slot]).fetchone() == (True,),
            timeout=30,
            what="the standby has the slot",
        )
    reader.resume()
    assert reader.wait() == 0
    wait_for_state(neighbour, "streaming")
