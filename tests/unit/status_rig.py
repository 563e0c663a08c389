"""A report in which all is well, to be spoiled."""

from __future__ import annotations

from dataclasses import replace

from cdc_relay.admin.status.report import (
    Backfill,
    ClosedTopic,
    DeadError,
    Error,
    Gap,
    Guard,
    Lag,
    Parked,
    Postgres,
    Reader,
    Relay,
    Report,
    Run,
    Slot,
    Trouble,
    WaitingTopic,
)

__all__ = ["CLOSED", "DEAD", "DOWN", "ERROR", "FREE", "FULL", "GAP", "RELAY", "SILENT", "SLOT", "WELL", "with_relay"]

MIB = 1 << 20
SLOT = Slot(
    plugin="pgoutput",
    database="orders",
    is_here=True,
    active=True,
    reader=Reader(4711, "relay", "cdc-relay:orders_outbox", "10.0.0.5", 10_800.0),
    inactive_seconds=None,
    wal_status="reserved",
    invalidation_reason=None,
    restart_lsn="16/B3740000",
    confirmed_lsn="16/B374D848",
    lag_bytes=1200,
    kept_bytes=54 << 10,
    safe_bytes=980 * MIB,
)
RELAY = Relay(
    slot="orders_outbox",
    version="0.1.0",
    pid=4242,
    up_seconds=10_900.0,
    state="streaming",
    since_seconds=10_800.0,
    reason="",
    role="reader",
    live=True,
    ready=True,
    rate_per_second=812.4,
    published_records=1_000_000,
    open_records=96,
    open_bytes=41 << 10,
    last_delivery_seconds=0.1,
    lag_seconds=0.1,
    reconnects=0,
    sink_error="",
    closed_topics=(),
    errors=(),
)
WELL = Report(
    file="relay.yaml",
    slot_name="orders_outbox",
    looked_at="2026-01-31T04:00:00+00:00",
    url="http://127.0.0.1:9464",
    postgres=Postgres(180004, False, "16/B374DCF8", 1024 * MIB),
    slot=SLOT,
    relay=RELAY,
    lag=Lag(1200, 0.1, at_most=False),
    parked=tuple(Parked(status, 0, 0, None) for status in ("retrying", "behind", "scheduled", "dead")),
    waiting_topics=(),
    dead_errors=(),
    guard=Guard("16/B374D848", 0.4, "16/B3740000", 3.0),
    run=Run(10_900.0, False, 0),
    backfill=None,
    gaps=(),
    troubles=(),
)
CLOSED = ClosedTopic("orders.v1", "UNKNOWN_TOPIC_OR_PART", "there is no such topic", "create the topic", 300.0)
ERROR = Error("2026-01-31T02:00:00.000+00:00", "2026-01-31T01:00:00.000+00:00", 3, "waiting: Postgres is not reachable")
DEAD = (Parked("retrying", 2, 812, 40.0), Parked("dead", 1, 310, 7_300.0))
GAP = Gap(
    "2026-01-30 12:00:00+00",
    "admin",
    "the slot was recreated",
    "16/A0",
    "16/B0",
    "2026-01-30 11:00:00+00",
    "2026-01-30 11:05:00+00",
    12,
    "cdc-relay replay -c relay.yaml --since 2026-01-30T11:00:00Z",
)
SILENT = Trouble("relay", "no answer at http://127.0.0.1:9464: [Errno 111] Connection refused", "start it")
FREE = replace(SLOT, active=False, reader=None, inactive_seconds=10_800.0)
DOWN = replace(WELL, relay=None, slot=FREE, troubles=(SILENT,), lag=Lag(1200, 300.0, at_most=True))
FULL = replace(  # everything that may be there is there
    WELL,
    relay=replace(RELAY, closed_topics=(CLOSED,), errors=(ERROR,)),
    parked=DEAD,
    waiting_topics=(WaitingTopic("orders.v1", 7),),
    dead_errors=(DeadError("2026-01-31 02:00:00+00", "orders.v1", "MSG_SIZE_TOO_LARGE", "too large"),),
    backfill=Backfill("backfill-1", 7_300.0, 40.0),
    gaps=(GAP,),
    troubles=(Trouble("guard", "permission denied for table guard", "GRANT SELECT"),),
)


def with_relay(**changes: object) -> Report:
    return replace(WELL, relay=replace(RELAY, **changes))  # type: ignore[arg-type]  # names are checked by replace()
