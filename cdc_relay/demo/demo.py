"""The demo from start to end: servers, relay, writer and consumer are started, watched, drained and stopped in order.

Every part is entered on one ExitStack, so what was started is stopped whatever happens. The writer and the consumer are
the only other threads; what they see, they tell the tally.
"""

from __future__ import annotations

import logging
import os
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import psycopg
from confluent_kafka import Message

from cdc_relay.demo.display import Display
from cdc_relay.demo.embedded_kafka import EmbeddedKafka, RecordReader
from cdc_relay.demo.embedded_postgres import EmbeddedPostgres, find_install
from cdc_relay.demo.janitor import Janitor
from cdc_relay.demo.monitor import Monitor, SlotLag
from cdc_relay.demo.orders import AGGREGATE_TYPES, CREATE_TABLE, OrderWriter
from cdc_relay.demo.progress import Progress
from cdc_relay.demo.received import delivery_of
from cdc_relay.demo.relay_process import SLOT, RelayProcess
from cdc_relay.demo.stop_signals import StopRequestedError, StopSignals
from cdc_relay.demo.tally import Summary, Tally
from cdc_relay.demo.workspace import workspace

__all__ = ["DemoOptions", "Outcome", "run_demo"]

_LIVE_RATE = 200.0
_TURN_SECONDS = 0.02
_STALL_SECONDS = 60.0
_DRAIN_STALL_SECONDS = 10.0
_THREAD_SECONDS = 60.0
_CAUSE_SECONDS = 2.0  # a server that died closes its connections before the kernel has it as dead


@dataclass(frozen=True, slots=True)
class DemoOptions:
    event_count: int | None = None  # None: until a signal
    rate: float | None = None  # events per second; None: moderate without a count, else as fast as they arrive

    @property
    def writing_rate(self) -> float | None:
        return _LIVE_RATE if self.rate is None and self.event_count is None else self.rate


@dataclass(frozen=True, slots=True)
class Outcome:
    summary: Summary
    event_target: int | None
    problem: str = ""

    @property
    def exit_code(self) -> int:
        is_complete = self.event_target is None or self.summary.delivered == self.event_target
        return 0 if self.summary.is_exact and is_complete else 1


def run_demo(options: DemoOptions, display: Display) -> Outcome:
    find_install()  # before anything is started: the extra may be missing
    _forget_postgres_environment()
    logging.getLogger("psycopg").addHandler(logging.NullHandler())  # what it has to say of a lost line, we say better
    with StopSignals() as stop, ExitStack() as stack:
        demo = _Demo(options, display, stop)
        try:
            demo.start(stack)
            problem = demo.watch()
        except StopRequestedError:
            return demo.outcome("stopped before the first event")
        demo.finish()
        return demo.outcome(problem)


def _forget_postgres_environment() -> None:
    """PGOPTIONS, PGSERVICE and the like belong to the user's servers and must not reach the demo's."""
    for name in [name for name in os.environ if name.startswith("PG")]:
        del os.environ[name]


class _Demo:
    """start(), watch() and finish(), in this order."""

    _directory: Path
    _janitor: Janitor
    _postgres: EmbeddedPostgres
    _connection: psycopg.Connection
    _relay: RelayProcess
    _pool: ThreadPoolExecutor
    _reading: Future[None]
    _writing: Future[None]

    def __init__(self, options: DemoOptions, display: Display, stop: StopSignals) -> None:
        self._options = options
        self._display = display
        self._stop = stop
        self._tally = Tally()
        self._monitor = Monitor(display, self._tally, event_target=options.event_count)
        self._halt_writer, self._finish_reader = Event(), Event()

    def start(self, stack: ExitStack) -> None:
        stack.enter_context(self._display)
        self._directory, self._janitor = stack.enter_context(workspace())
        self._enter("starting Kafka")
        kafka = stack.enter_context(EmbeddedKafka())
        self._enter("starting Postgres")
        self._postgres = stack.enter_context(EmbeddedPostgres(self._directory, janitor=self._janitor, stop=self._stop))
        self._connection = stack.enter_context(self._postgres.connect("demo-monitor"))
        self._connection.execute(CREATE_TABLE)
        self._start_threads(stack, kafka)
        self._start_relay(stack, kafka)

    def _enter(self, phase: str) -> None:
        self._stop.check()
        self._monitor.enter(phase)

    def _start_threads(self, stack: ExitStack, kafka: EmbeddedKafka) -> None:
        """The consumer first: it listens before the first row is written."""
        self._pool = stack.enter_context(ThreadPoolExecutor(max_workers=2))
        stack.callback(self._end_threads)
        partitions = kafka.create_topics([f"outbox.event.{name}" for name in AGGREGATE_TYPES])
        reader = RecordReader(kafka.bootstrap_servers, partitions)
        self._reading = self._pool.submit(reader.run, self._take, self._finish_reader)

    def _start_relay(self, stack: ExitStack, kafka: EmbeddedKafka) -> None:
        self._enter("setting up and starting the relay")
        self._relay = stack.enter_context(
            RelayProcess(
                self._directory,
                dsn=self._postgres.dsn,
                bootstrap_servers=kafka.bootstrap_servers,
                janitor=self._janitor,
                stop=self._stop,
            )
        )
        self._relay.wait_until_ready()
        self._monitor.begin_sampling(slot_lag=SlotLag(self._connection, SLOT), relay_state=self._relay.state)

    def watch(self) -> str:
        """Until a signal comes or all events are delivered; returns what went wrong, if anything did."""
        self._enter("taking orders")
        self._writing = self._start_writer()
        progress = Progress(time.monotonic(), patience_seconds=_STALL_SECONDS)
        while not self._is_complete():
            if self._stop.requested:
                return "" if self._options.event_count is None else "stopped before all events were delivered"
            if self._has_stalled(progress) and self._options.event_count is not None:
                return f"no event arrived for {_STALL_SECONDS:.0f} s"
            self._turn()
        return ""

    def finish(self) -> None:
        """Writer first, then the relay once it has drained, then the consumer at the end of the topics."""
        self._monitor.enter("stopping: the relay drains")
        self._halt_writer.set()
        self._writing.result(_THREAD_SECONDS)
        progress = Progress(time.monotonic(), patience_seconds=_DRAIN_STALL_SECONDS)
        while self._tally.awaiting_count and not self._has_stalled(progress):
            self._turn()
        self._relay.stop()
        self._finish_reader.set()
        self._reading.result(_THREAD_SECONDS)
        self._monitor.enter("stopping the servers")

    def outcome(self, problem: str) -> Outcome:
        return Outcome(self._tally.summary(), self._options.event_count, problem)

    def _turn(self) -> None:
        self._postgres.check()
        self._relay.check()
        for future in (self._writing, self._reading):
            if future.done() and future.exception() is not None:
                self._postgres.check(patience_seconds=_CAUSE_SECONDS)  # a lost connection is a symptom
                future.result()
        self._monitor.turn()
        time.sleep(_TURN_SECONDS)

    def _is_complete(self) -> bool:
        return self._tally.delivered_count == self._options.event_count

    def _has_stalled(self, progress: Progress) -> bool:
        return progress.has_stalled(self._tally.delivered_count, time.monotonic())

    def _start_writer(self) -> Future[None]:
        options = self._options
        writer = OrderWriter(
            self._postgres.dsn, self._tally, event_limit=options.event_count, rate=options.writing_rate
        )
        return self._pool.submit(writer.run, self._halt_writer)

    def _take(self, record: Message, now: float) -> None:
        self._tally.received(delivery_of(record), now)

    def _end_threads(self) -> None:
        self._halt_writer.set()
        self._finish_reader.set()
