"""The first row: is anything wrong?"""

from __future__ import annotations

from tests.dashboard.panel import Kind, Panel, Query, Row, figure
from tests.dashboard.queries import EACH, IN_OUTBOX, OURS, largest, quantile, rate_by, state_numbers

__all__ = ["OVERVIEW"]

ALERTS = f'count(ALERTS{{alertname=~"Outbox.*",alertstate="firing",{OURS}}}) or vector(0)'

OVERVIEW = Row(
    "Overview",
    (
        figure("Alerts", "Alerts that fire now. Each says what to do.", ALERTS, limits=(1,)),
        figure("Published", "Acknowledged records per second.", rate_by("outbox_published_total"), unit="ops"),
        figure(
            "Latency p95",
            "From commit to acknowledgement. Nothing is shown while nothing is published.",
            quantile(0.95),
            unit="s",
            limits=(1, 30),
            runbook="latency-is-high",
        ),
        figure(
            "Backlog",
            "Read and unsettled, retrying or behind. What is unread is slot lag.",
            largest("outbox_backlog_gauge"),
            limits=(500,),
            runbook="backlog-grows",
        ),
        figure(
            "Behind",
            "How far what is settled is behind what was committed.",
            largest("outbox_slot_lag_seconds"),
            unit="s",
            limits=(60, 300),
            runbook="slot-lag-grows",
        ),
        figure(
            "Dead records",
            "Given up: somebody has to decide about each.",
            largest("outbox_lot_records", matchers=f'{OURS},status="dead"'),
            limits=(1,),
            runbook="records-are-parked",
        ),
        Panel(
            "State of each relay",
            "One of a service streams, the others stand by. Red: it waits, holds, or has let go of the line.",
            (Query(state_numbers(), EACH),),
            kind=Kind.STATES,
            runbook="holding-and-released",
            width=12,
            height=6,
        ),
        Panel(
            "Published per second",
            "By service. A drop to zero while rows are written: look at the states, then at Behind.",
            (Query(rate_by("outbox_published_total")),),
            unit="ops",
            width=12,
            height=6,
        ),
        Panel(
            "Latency",
            "Commit to acknowledgement, of records from the stream. High with a short queue: Postgres or the relay is "
            "behind; high with a long queue: Kafka.",
            tuple(Query(quantile(share), f"{{{{service}}}} p{share * 100:.0f}") for share in (0.5, 0.95, 0.99)),
            unit="s",
            limits=(30,),
            runbook="latency-is-high",
        ),
        Panel(
            "Latency by bucket",
            "Each cell: records that took so long. A band that rises as a whole is a slow broker; a second band on top "
            "is one slow topic or outbox.",
            (Query(rate_by("outbox_publish_latency_seconds_bucket", "le", IN_OUTBOX), "{{le}}"),),
            unit="s",
            kind=Kind.HEATMAP,
            minimum=None,
            runbook="latency-is-high",
        ),
        Panel(
            "Backlog",
            "Above 500 for five minutes is an alert. Compare with the lot below: retrying and behind are part of it.",
            (
                Query(largest("outbox_backlog_gauge")),
                Query(largest("outbox_in_flight_records"), "{{service}} in flight"),
            ),
            limits=(500,),
            runbook="backlog-grows",
        ),
    ),
)
