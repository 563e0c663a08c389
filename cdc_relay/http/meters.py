"""Every metric's name, kind, labels and meaning, in one table. Reads nothing; docs/metrics.md is made from it.

Each has the label `service` besides its own. Names follow Prometheus' conventions, but for outbox_backlog_gauge, whose
name is the requirement's.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

__all__ = ["METERS", "Kind", "Meter"]


class Kind(StrEnum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"
    SUMMARY = "summary"  # sum and count, without quantiles
    INFO = "info"


class Meter(NamedTuple):
    name: str  # as Prometheus stores it, but for the _bucket, _sum and _count of histograms and summaries
    kind: Kind
    meaning: str
    labels: tuple[str, ...] = ()
    absent: str = ""  # when there is no such sample; a zero would say something else


_TOPIC = ("outbox", "topic")

_FLOW = (
    Meter("outbox_publish_attempts_total", Kind.COUNTER, "Tries to publish that got a verdict, good or bad.", _TOPIC),
    Meter("outbox_published_total", Kind.COUNTER, "Records that the broker acknowledged.", _TOPIC),
    Meter("outbox_published_bytes_total", Kind.COUNTER, "Key, value and header bytes of acknowledged records."),
    Meter("outbox_retry_total", Kind.COUNTER, "Failures after which a record is tried again.", _TOPIC),
    Meter("outbox_failed_permanent_total", Kind.COUNTER, "Records that were given up: an operator decides.", _TOPIC),
    Meter(
        "outbox_publish_latency_seconds",
        Kind.HISTOGRAM,
        "From the commit, by the clock of Postgres, to the broker's acknowledgement, by ours; records of the stream.",
        ("outbox",),
    ),
    Meter("outbox_transactions_total", Kind.COUNTER, "Transactions read from the slot."),
    Meter("outbox_dropped_total", Kind.COUNTER, "Rows that a route drops."),
    Meter(
        "outbox_ignored_changes_total",
        Kind.COUNTER,
        "Changes of relations, and messages of prefixes, that are no outbox.",
    ),
    Meter("outbox_foreign_changes_total", Kind.COUNTER, "Updates, deletes and truncates of outboxes: never published."),
    Meter(
        "outbox_stage_seconds",
        Kind.SUMMARY,
        "Time spent on a record in a stage: decode, route and produce on a sample of at most ten a second, confirm "
        "from settled to confirmed. Where the relay is compiled, decode has route in it.",
        ("stage",),
    ),
)
_RELAY = (
    Meter("outbox_state", Kind.GAUGE, "1 for the state that the relay is in, 0 for the others.", ("state",)),
    Meter(
        "outbox_backlog_gauge", Kind.GAUGE, "Records read and unsettled, retrying or behind.", (), "lot not yet read"
    ),
    Meter("outbox_in_flight_records", Kind.GAUGE, "Records read and not yet settled."),
    Meter("outbox_in_flight_bytes", Kind.GAUGE, "Key, value and header bytes of records in flight."),
    Meter("outbox_window_fill_ratio", Kind.GAUGE, "How full the window is; 1 and above: nothing more is read."),
    Meter(
        "outbox_stalled_seconds", Kind.GAUGE, "How long records have been open with none settled; 0: nothing is open."
    ),
    Meter("outbox_loop_silent_seconds", Kind.GAUGE, "Since the loop last turned; /livez fails at its limit."),
    Meter("outbox_reconnects_total", Kind.COUNTER, "Times the replication line was opened again."),
    Meter("outbox_build_info", Kind.INFO, "The running cdc-relay.", ("version", "python")),
)
_SLOT = (
    Meter(
        "outbox_slot_active",
        Kind.GAUGE,
        "1 while the slot is read, by this relay or, while it stands by, by another; 0 while it waits.",
    ),
    Meter(
        "outbox_slot_lag_bytes",
        Kind.GAUGE,
        "WAL that the slot has not confirmed; read every 10 s.",
        (),
        "not yet read, or not the reader",
    ),
    Meter(
        "outbox_slot_lag_seconds",
        Kind.GAUGE,
        "How far what is settled is behind what was committed.",
        (),
        "unknown: not reading",
    ),
    Meter(
        "outbox_slot_wal_headroom_bytes",
        Kind.GAUGE,
        "WAL that may still be written before Postgres may drop the slot's (safe_wal_size).",
        (),
        "max_slot_wal_keep_size is -1: no limit",
    ),
    Meter(
        "outbox_slot_wal_limit_bytes",
        Kind.GAUGE,
        "max_slot_wal_keep_size: what the headroom began with.",
        (),
        "as the headroom",
    ),
)
_LOT = (
    Meter(
        "outbox_parked_total",
        Kind.COUNTER,
        "Records that went into the lot, by reason: failure, topic_closed, behind, schedule.",
        ("reason",),
    ),
    Meter("outbox_republished_total", Kind.COUNTER, "Records published from the lot."),
    Meter(
        "outbox_lot_records",
        Kind.GAUGE,
        "Records in the lot, by status: retrying, behind, scheduled, dead; read every 10 s.",
        ("status",),
        "lot not yet read",
    ),
    Meter("outbox_lot_bytes", Kind.GAUGE, "Their keys, values, headers and rows.", (), "lot not yet read"),
    Meter("outbox_lot_limit_records", Kind.GAUGE, "parking.limit.records: there the relay holds."),
    Meter("outbox_lot_limit_bytes", Kind.GAUGE, "parking.limit.bytes: there the relay holds."),
    Meter("outbox_lot_oldest_seconds", Kind.GAUGE, "Age of the oldest record in the lot.", (), "lot not yet read"),
)
_KAFKA = (
    Meter("outbox_closed_topics", Kind.GAUGE, "Topics that cannot take records now.", (), "it stands by"),
    Meter("outbox_topic_closed_seconds", Kind.GAUGE, "How long a topic has been closed.", ("topic",), "it is open"),
    Meter(
        "outbox_kafka_queue_records", Kind.GAUGE, "Records in librdkafka's queue; every 10 s.", (), "no statistics yet"
    ),
    Meter("outbox_kafka_queue_bytes", Kind.GAUGE, "Their bytes.", (), "no statistics yet"),
    Meter(
        "outbox_kafka_broker_up",
        Kind.GAUGE,
        "1 while the connection to a broker is up, 0 while it is down.",
        ("broker",),
        "no statistics yet",
    ),
    Meter(
        "outbox_kafka_broker_rtt_seconds",
        Kind.GAUGE,
        "Average time of a request to a broker and back, over the last 10 s.",
        ("broker",),
        "nothing was sent to it",
    ),
    Meter(
        "outbox_kafka_broker_requests_in_flight",
        Kind.GAUGE,
        "Requests that wait to be sent or answered.",
        ("broker",),
        "no statistics yet",
    ),
)
_UPKEEP = (
    Meter("outbox_retention_removed_rows_total", Kind.COUNTER, "Rows that retention removed.", ("table",)),
    Meter("outbox_retention_partitions_total", Kind.COUNTER, "Partitions made or dropped.", ("table", "action")),
    Meter(
        "outbox_retention_last_run_timestamp_seconds",
        Kind.GAUGE,
        "When retention last finished without an error.",
        (),
        "not yet, or it is off",
    ),
    Meter(
        "outbox_retention_failing",
        Kind.GAUGE,
        "1 while the last pass of retention left something undone, else 0.",
        (),
        "no pass yet, or it is off",
    ),
    Meter(
        "outbox_certificate_expiry_timestamp_seconds",
        Kind.GAUGE,
        "When a certificate expires, as seen at the start and once an hour.",
        ("certificate",),
        "no TLS",
    ),
)

METERS = {meter.name: meter for meter in (*_FLOW, *_RELAY, *_SLOT, *_LOT, *_KAFKA, *_UPKEEP)}
