"""From a configuration to a running relay: the only file that names concrete classes."""

from __future__ import annotations

import structlog

from cdc_relay.config import OutboxConfig, RelayConfig
from cdc_relay.delivery.intake import Intake
from cdc_relay.delivery.window import Window
from cdc_relay.errors import RefusedError
from cdc_relay.helper import Helper
from cdc_relay.http.server import HttpServer
from cdc_relay.parking.lot import RefusingLot
from cdc_relay.relay import Relay
from cdc_relay.routing.router import Outbox, Router
from cdc_relay.session import Session, Stream, Timing
from cdc_relay.sinks.kafka import KafkaSink
from cdc_relay.sources.conninfo import catalog_conninfo, replication_conninfo
from cdc_relay.sources.preflight import Wanted
from cdc_relay.sources.slot_source import SlotSource
from cdc_relay.stats import Stats
from cdc_relay.stop import Stop

__all__ = ["run_relay"]

log = structlog.get_logger()


def run_relay(config: RelayConfig, *, stop: Stop, wait: bool = True) -> None:
    """Blocks until stopped; raises RelayError with the reason otherwise."""
    stats = Stats()
    outboxes = tuple(_outbox(outbox) for outbox in config.outboxes)
    source = _make_source(config, outboxes)
    sink = KafkaSink(config.sink.kafka)
    helper = Helper(watched=source)
    http = _Http(config, stats)
    timing = _timing(config)
    router = Router(outboxes)

    def make_session(stream: Stream) -> Session:
        window = Window(record_limit=config.delivery.window.records, byte_limit=config.delivery.window.bytes)
        return Session(
            stream,
            Intake(router, window),
            sink=sink,
            lot=RefusingLot(),
            check=lambda: helper.submit(source.check),
            server_is_leaving=lambda: source.server_is_leaving,
            stats=stats,
            stop=stop,
            timing=timing,
        )

    relay = Relay(
        source=source,
        sink=sink,
        helper=helper,
        make_session=make_session,
        on_streaming=http.insist,
        stats=stats,
        stop=stop,
        timing=timing,
        wait=wait,
    )
    try:
        http.offer()
        relay.run()
    finally:
        http.close()
        helper.close()
        sink.close()


def _make_source(config: RelayConfig, outboxes: tuple[Outbox, ...]) -> SlotSource:
    source = config.source
    password = source.password.get_secret_value() if source.password else None
    silence = source.wal_sender_timeout_seconds / 2
    return SlotSource(
        Wanted(source.slot, source.publication, outboxes),
        catalog_conninfo=catalog_conninfo(source.dsn, password=password, slot=source.slot, silence_seconds=silence),
        replication_conninfo=replication_conninfo(
            source.dsn, password=password, slot=source.slot, silence_seconds=silence
        ),
        wal_sender_timeout_seconds=source.wal_sender_timeout_seconds,
    )


def _timing(config: RelayConfig) -> Timing:
    silence = config.source.wal_sender_timeout_seconds / 2
    return Timing(
        silence=silence,
        status=min(1.0, silence / 4),
        release=config.delivery.release_line_after_seconds,
        drain=config.delivery.drain_seconds,
    )


def _outbox(outbox: OutboxConfig) -> Outbox:
    table, columns = outbox.table, outbox.columns
    return Outbox(
        schema=table.schema,
        name=table.name,
        label=str(table),
        id_column=columns.id,
        key_column=columns.key,
        type_column=columns.type,
        payload_column=columns.payload,
    )


class _Http:
    """A busy port is only warned of while standing by: the reader before us may still hold it."""

    def __init__(self, config: RelayConfig, stats: Stats) -> None:
        self._address = config.http.address
        self._server = HttpServer(self._address, stats) if self._address else None

    def offer(self) -> None:
        if self._server is not None and not self._server.start():
            log.warning("http_port_busy", address=self._address, consequence="tried again when the slot is taken over")

    def insist(self) -> None:
        if self._server is not None and not self._server.start():
            host, port = self._address or ("", 0)
            raise RefusedError(
                f"http.listen: {host}:{port} is in use by another process",
                remedy="set http.listen to a free port (or off)",
            )

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
