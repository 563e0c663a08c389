"""From a configuration to a running relay: the only file that names concrete classes."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Sequence

import structlog

from cdc_relay import __version__
from cdc_relay.admin.certificate_watch import CertificateWatch
from cdc_relay.admin.check.beside import CheckBeside
from cdc_relay.admin.retention.beside import RetentionBeside
from cdc_relay.bell import Bell
from cdc_relay.config import RelayConfig, SinkConfig
from cdc_relay.delivery.intake import Intake
from cdc_relay.delivery.twins import Window
from cdc_relay.dispatch.dispatch import Dispatch, DispatchOptions
from cdc_relay.errors import ConfigError
from cdc_relay.helper import Helper
from cdc_relay.http.listening import Listening
from cdc_relay.logs import says_debug
from cdc_relay.model import Dropped, Record, Transaction, Unroutable
from cdc_relay.native import is_native
from cdc_relay.parking.entry import Claim, Inventory
from cdc_relay.parking.postgres_lot import PostgresLot
from cdc_relay.relay import Relay
from cdc_relay.replay.stamp import add_headers
from cdc_relay.routing.router import Router
from cdc_relay.session.session import Session
from cdc_relay.session.stream import Stream
from cdc_relay.session.timing import Timing
from cdc_relay.sinks.sink import Sink
from cdc_relay.sources.preflight import Wanted
from cdc_relay.sources.slot_source import SlotSource
from cdc_relay.stats import Bounds, Stats
from cdc_relay.stop import Stop
from cdc_relay.systemd import Systemd
from cdc_relay.target import (
    conninfo_of,
    parking_conninfo_of,
    policies_of,
    replication_conninfo_of,
    silence_seconds_of,
    wanted_of,
)

__all__ = ["dispatch_options", "make_lot", "make_sink", "make_stats", "run_relay"]

log = structlog.get_logger()


def run_relay(config: RelayConfig, *, stop: Stop, wait: bool = True, accept_gap: bool = False) -> None:
    """Blocks until stopped; raises RelayError with the reason otherwise."""
    _tell_start(config)
    parts = _Parts(config, stop, accept_gap=accept_gap)
    beside = _Beside(config, stats=parts.stats, stop=stop)
    relay = Relay(
        source=parts.source,
        sink=parts.sink,
        lot=parts.lot,
        helper=parts.helper,
        make_session=parts.make_session,
        on_streaming=beside.on_streaming,
        stats=parts.stats,
        stop=stop,
        timing=parts.timing,
        wait=wait,
    )
    try:
        beside.begin()
        _collect_garbage()
        relay.run()
        beside.raise_refusal()
    finally:
        stop.request()  # also where an error ends it: nothing beside the relay goes on
        parts.close()
        beside.close()


def _collect_garbage() -> None:
    """From now on, but not among what is there for good. What a record leaves is counted away: looking for cycles
    among the open records took a quarter of the loop's time, and a hundred thousand objects are less than they have."""
    gc.freeze()
    gc.set_threshold(100_000)
    gc.enable()


class _Beside:
    """What runs beside the relay, each on a thread of its own."""

    def __init__(self, config: RelayConfig, *, stats: Stats, stop: Stop) -> None:
        self._http = Listening(config.http.address, stats=stats, stop=stop)
        self._systemd = Systemd(os.environ, stats=stats, stop=stop)
        self._certificates = CertificateWatch(config, stats=stats, stop=stop)
        self._check = CheckBeside(config, stop)
        self._retention = RetentionBeside(config, stats=stats, stop=stop)
        self.raise_refusal = self._http.raise_refusal

    def begin(self) -> None:
        self._http.offer()
        self._systemd.begin()
        self._certificates.begin()  # an expired one may be why nothing streams

    def on_streaming(self) -> None:
        self._http.insist()
        self._check.begin()
        self._retention.begin()

    def close(self) -> None:
        self._retention.close()
        self._http.close()
        self._systemd.close()


def _tell_start(config: RelayConfig) -> None:
    sink = next(name for name in ("kafka", "log", "none") if getattr(config.sink, name) is not None)
    labels = [outbox.label for outbox in config.outboxes]
    log.info("relay_start", version=__version__, slot=config.source.slot, outboxes=labels, sink=sink, native=is_native)


class _Parts:
    """What lives as long as the process, and the sessions that are made of it."""

    def __init__(self, config: RelayConfig, stop: Stop, *, accept_gap: bool) -> None:
        wanted = wanted_of(config)
        self.stats = make_stats(config, wanted)
        self.source = _make_source(config, wanted, accept_gap=accept_gap)
        self._router = Router(wanted.outboxes)
        self.sink = make_sink(config.sink, fixed_topics=self._router.fixed_topics)
        self.lot = make_lot(config)
        self.timing = _timing(config)
        self._bell = Bell()
        self.helper = Helper(self.source, self.lot, bell=self._bell)
        self._config = config
        self._stop = stop

    def make_session(self, stream: Stream, inventory: Inventory, ceiling_lsn: int) -> Session:
        limits = self._config.delivery.window
        window = Window(record_limit=limits.records, byte_limit=limits.bytes)
        intake = Intake(self._router, window, inventory.identities, ceiling_lsn=ceiling_lsn)
        return Session(
            stream,
            intake,
            sink=self.sink,
            dispatch=self._make_dispatch(intake, inventory),
            check=lambda: self.helper.submit(self.source.check),
            raise_ceiling=lambda lsn: self.helper.submit(lambda: self.source.raise_ceiling(lsn)),
            server_is_leaving=lambda: self.source.server_is_leaving,
            stats=self.stats,
            stop=self._stop,
            bell=self._bell,
            timing=self.timing,
        )

    def close(self) -> None:
        self.helper.submit(self.lot.close)
        self.helper.submit(self.source.close)
        self.helper.close()
        self.sink.close()

    def _make_dispatch(self, intake: Intake, inventory: Inventory) -> Dispatch:
        return Dispatch(
            intake,
            self.sink,
            self.lot,
            submit=self.helper.submit,
            inventory=inventory,
            route_again=self._route_again,
            stats=self.stats,
            options=dispatch_options(self._config),
            now=time.monotonic(),
        )

    def _route_again(self, claim: Claim) -> Record | Unroutable | Dropped:
        transaction = Transaction(commit_lsn=claim.commit_lsn, commit_time_us=claim.commit_time_us, xid=claim.xid)
        routed = self._router.route_columns(claim.outbox, claim.columns or [], transaction, claim.ordinal)
        return add_headers(routed, claim.headers)


def make_stats(config: RelayConfig, wanted: Wanted) -> Stats:
    window, limit = config.delivery.window, config.parking.limit
    bounds = Bounds(window.records, window.bytes, limit.records, limit.bytes)
    stats = Stats(slot=config.source.slot, service=config.service_name, bounds=bounds)
    for outbox in wanted.outboxes:  # a series that begins at 0 shows its first failure as an increase
        for topic in outbox.fixed_topics:
            stats.counters.of(outbox.label, topic)
    return stats


def _make_source(config: RelayConfig, wanted: Wanted, *, accept_gap: bool) -> SlotSource:
    return SlotSource(
        wanted,
        catalog_conninfo=conninfo_of(config),
        replication_conninfo=replication_conninfo_of(config),
        wal_sender_timeout_seconds=config.source.wal_sender_timeout_seconds,
        accept_gap=accept_gap,
    )


def make_sink(config: SinkConfig, *, fixed_topics: Sequence[str]) -> Sink:
    """Imports the one that is wanted, with its library."""
    if config.kafka is not None:
        from cdc_relay.sinks.kafka import KafkaSink

        sink = KafkaSink(config.kafka, fixed_topics=fixed_topics)
        if sink.detour:
            log.info("kafka_detour", reason=sink.detour)
        return sink
    if config.log is not None:
        from cdc_relay.sinks.line_output import open_stdout
        from cdc_relay.sinks.log import LogSink

        return LogSink(open_stdout())
    if config.none is not None:
        from cdc_relay.sinks.none import NoneSink

        return NoneSink()
    raise ConfigError("sink: a sink that nobody here knows")


def make_lot(config: RelayConfig) -> PostgresLot:
    limit = config.parking.limit
    return PostgresLot(
        parking_conninfo_of(config),
        slot=config.source.slot,
        limit_records=limit.records,
        limit_bytes=limit.bytes,
        dead_letter_topic=config.parking.dead_letter_topic,
        policies=policies_of(config),
        outboxes=[outbox.label for outbox in config.outboxes],
        setting="source.dsn" if config.parking.dsn is None else "parking.dsn",
    )


def dispatch_options(config: RelayConfig) -> DispatchOptions:
    return DispatchOptions(
        partial_outage_seconds=config.delivery.partial_outage_after_seconds,
        copies_dead=config.parking.dead_letter_topic is not None,
        tells_records=says_debug(),
    )


def _timing(config: RelayConfig) -> Timing:
    silence = silence_seconds_of(config.source)
    return Timing(
        silence=silence,
        status=min(1.0, silence / 4),
        release=config.delivery.release_line_after_seconds,
        drain=config.delivery.drain_seconds,
    )
