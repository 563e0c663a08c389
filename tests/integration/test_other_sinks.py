"""The relay without Kafka: `sink: log` and `sink: none` on a real Postgres, with the same promises to the slot."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.sinks import Received, read_line
from tests.fixtures.database import Database
from tests.fixtures.fix_relay import MakeRelay, RelayProcess, make_slot, relay_config
from tests.fixtures.outbox import create_lot, create_outbox, insert_event, insert_events
from tests.fixtures.parked import end_lsn, logged
from tests.fixtures.process import wait_until

PUBLICATION = "outbox"
TOPIC = "outbox.event.order"
KILL_COUNT, ROUND_COUNT = 3, 2_000


class Ground:
    """A database with an outbox and a slot, and relays over it that know no Kafka."""

    def __init__(self, database: Database, make_relay: MakeRelay) -> None:
        self._database = database
        self._make_relay = make_relay
        self._slot = f"outbox_{database.name}"
        self._lsn = 0  # behind what was committed last
        with database.connect() as conn:
            create_lot(conn)
            create_outbox(conn)
            make_slot(conn, self._slot, PUBLICATION)
        self._dsn = database.dsn(database.create_relay_role())

    def start(self, sink: str, **overrides: Any) -> RelayProcess:
        config = relay_config(self._dsn, self._slot, PUBLICATION, "public.outbox", "", **overrides)
        relay: RelayProcess = self._make_relay(config | {"sink": sink})
        return relay.wait_ready()

    def insert(self, key: str = "k1", *, aggregate_type: str = "order", payload: str | None = None) -> str:
        with self._database.connect() as conn:
            event_id = insert_event(conn, aggregate_type, key, payload=payload)
            self._lsn = end_lsn(conn)
        return event_id

    def insert_many(self, count: int, *, payload_bytes: int = 200) -> None:
        with self._database.connect() as conn:
            insert_events(conn, count, "order", payload_bytes=payload_bytes)
            self._lsn = end_lsn(conn)

    def wait_until_confirmed(self) -> None:
        wait_until(lambda: self._database.confirmed_lsn(self._slot) >= self._lsn, timeout=60, what="the slot follows")


@pytest.fixture
def ground(database: Database, make_relay: MakeRelay) -> Ground:
    return Ground(database, make_relay)


class Reader:
    """The other end of a relay's standard output."""

    def __init__(self, fifo: Path) -> None:
        fifo.parent.mkdir()
        os.mkfifo(fifo)
        self._file = os.fdopen(os.open(fifo, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0)

    def read_lines(self, count: int) -> list[Received]:
        text = bytearray()

        def are_there() -> bool:
            text.extend(self._file.read(1 << 20) or b"")
            return text.count(b"\n") >= count

        wait_until(are_there, timeout=60, what=f"{count} lines come", every=0.01)
        return [read_line(line)[1] for line in bytes(text).splitlines()]

    def hang_up(self) -> None:
        self._file.close()


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    """Of the first relay of the test."""
    reader = Reader(tmp_path / "relay0" / "stdout")
    yield reader
    reader.hang_up()


def whole_lines(relay: RelayProcess) -> list[tuple[str, Received]]:
    """A process that is killed may leave half a line; the next one must not write on it."""
    return [read_line(line.encode()) for line in relay.stdout.split("\n") if line.endswith("}")]


def number(received: Received) -> int:
    return int(json.loads(received.value or b"")["n"])


# --- log


def test_each_row_is_a_line_and_the_slot_follows(ground: Ground) -> None:
    relay = ground.start("log")
    ids = [ground.insert(f"k{place}", payload=f'{{"n": {place}}}') for place in range(3)]
    wait_until(lambda: relay.stdout.count("\n") == 3, timeout=60, what="three lines are there")
    assert [(topic, each.key, each.value, each.headers) for topic, each in whole_lines(relay)] == [
        (TOPIC, f"k{place}".encode(), f'{{"n": {place}}}'.encode(), [("id", event_id.encode())])
        for place, event_id in enumerate(ids)
    ]
    ground.wait_until_confirmed()
    assert relay.stop() == 0


def test_kill_9_loses_no_line(ground: Ground) -> None:
    relay = ground.start("log")
    for _ in range(KILL_COUNT):
        before = len(relay.stdout)
        ground.insert_many(ROUND_COUNT, payload_bytes=2_000)
        wait_until(lambda seen=before: len(relay.stdout) > seen, timeout=60, what="lines come", every=0.001)  # type: ignore[misc]  # mypy does not see the default
        relay.kill()
        relay.start()
    ground.wait_until_confirmed()
    assert relay.stop() == 0
    ids = {received.headers[0][1] for _, received in whole_lines(relay)}
    assert len(ids) == KILL_COUNT * ROUND_COUNT


def test_a_dead_record_is_copied_to_the_dead_letter_topic_as_a_line(ground: Ground) -> None:
    relay = ground.start("log", parking={"dead_letter_topic": "dead"})
    ground.insert(aggregate_type="not a topic")
    wait_until(lambda: relay.stdout.count("\n") == 1, timeout=60, what="the copy is there")
    assert [topic for topic, _ in whole_lines(relay)] == ["dead"]
    ground.wait_until_confirmed()


def test_a_reader_that_stops_reading_is_waited_for_over_one_line(ground: Ground, reader: Reader) -> None:
    relay = ground.start("log", source={"wal_sender_timeout": "2s"})
    ground.insert_many(2_000, payload_bytes=1_000)
    relay.wait_for_log("nobody reads standard output")  # after five seconds: Postgres would have hung up by now
    assert logged(relay, "state")[-1]["state"] == "holding"
    assert [number(received) for received in reader.read_lines(2_000)] == list(range(1, 2_001))
    ground.wait_until_confirmed()
    assert relay.stop() == 0
    assert {each["state"] for each in logged(relay, "state")} <= {"streaming", "holding", "stopping"}


def test_a_reader_that_goes_away_ends_the_relay_and_what_it_missed_comes_again(ground: Ground, reader: Reader) -> None:
    relay = ground.start("log")
    ground.insert("seen")
    assert [received.key for received in reader.read_lines(1)] == [b"seen"]
    ground.wait_until_confirmed()
    reader.hang_up()
    ground.insert("missed")
    assert relay.wait() == 3
    assert "cannot write to standard output: Broken pipe\n  what to do: start the relay again" in relay.stderr
    again = ground.start("log")
    wait_until(lambda: again.stdout.count("\n") == 1, timeout=60, what="the missed row comes again")
    assert [received.key for _, received in whole_lines(again)] == [b"missed"]


# --- none


def test_without_a_sink_every_row_counts_as_delivered_and_the_slot_follows(ground: Ground) -> None:
    relay = ground.start("none")
    ground.insert_many(5_000)
    ground.wait_until_confirmed()
    assert relay.metric("outbox_published_total") == 5_000
    assert relay.stdout == ""
    assert relay.stop() == 0
