"""What becomes of records: tries, acknowledgements, failures, and where the time goes."""

from __future__ import annotations

from tests.dashboard.panel import Panel, Query, Row
from tests.dashboard.queries import BY_TOPIC, OURS, RATE, increase_by, largest, rate_by, recorded

__all__ = ["FLOW"]

_STAGE = f"sum by (service, stage) (rate(outbox_stage_seconds_%s{{{OURS}}}{RATE}))"
_GIVEN_UP = recorded("outbox_failed_permanent:increase15m")
_PUBLISHED = recorded("outbox_published:increase15m")

FLOW = Row(
    "Flow",
    (
        Panel(
            "Published per second, by topic",
            "The twenty busiest of the chosen topics.",
            (
                Query(
                    f"topk(20, {rate_by('outbox_published_total', 'service, topic', BY_TOPIC)})",
                    "{{service}} {{topic}}",
                ),
            ),
            unit="ops",
        ),
        Panel(
            "Retries per second, by topic",
            "Failures after which a record is tried again. One topic alone: look at it with `dlq stats`.",
            (Query(f"topk(20, {rate_by('outbox_retry_total', 'service, topic', BY_TOPIC)})", "{{service}} {{topic}}"),),
            unit="ops",
            runbook="records-are-parked",
        ),
        Panel(
            "Given up in 15 minutes, by topic",
            "Each is a dead record in the lot. (none): it could not be routed.",
            (
                Query(
                    f"topk(20, {increase_by('outbox_failed_permanent_total', 'service, topic', BY_TOPIC)})",
                    "{{service}} {{topic}}",
                ),
            ),
            runbook="records-are-parked",
        ),
        Panel(
            "Share of records that are given up",
            "In 15 minutes, as rules.yml records it; above 1 % is an alert. Not shown while nothing moves.",
            (Query(f"{_GIVEN_UP} / ({_GIVEN_UP} + {_PUBLISHED})"),),
            unit="percentunit",
            limits=(0.01,),
            runbook="records-are-parked",
        ),
        Panel(
            "Tries per second",
            "Verdicts of the broker, good or bad. Well above Published: records are refused again and again.",
            (
                Query(rate_by("outbox_publish_attempts_total", matchers=BY_TOPIC), "{{service}} tries"),
                Query(rate_by("outbox_published_total", matchers=BY_TOPIC), "{{service}} published"),
            ),
            unit="ops",
        ),
        Panel(
            "Bytes per second",
            "Keys, values and headers of acknowledged records.",
            (Query(rate_by("outbox_published_bytes_total")),),
            unit="Bps",
        ),
        Panel(
            "Window",
            "At 1 nothing more is read until Kafka acknowledges: Kafka is the slower side.",
            (Query(largest("outbox_window_fill_ratio")),),
            unit="percentunit",
            limits=(0.8, 1),
            runbook="latency-is-high",
        ),
        Panel(
            "In flight",
            "Bytes read and not yet settled.",
            (Query(largest("outbox_in_flight_bytes")),),
            unit="bytes",
        ),
        Panel(
            "Since something was settled",
            "While records are open. Above a minute is an alert: look at Kafka and at the state's reason in /readyz.",
            (Query(largest("outbox_stalled_seconds")),),
            unit="s",
            limits=(60,),
            runbook="no-progress",
        ),
        Panel(
            "Time per record, by stage",
            "Average of a sample. Confirm is the wait for the next status update, not work.",
            (Query(f"{_STAGE % 'sum'} / {_STAGE % 'count'}", "{{service}} {{stage}}"),),
            unit="s",
            width=12,
        ),
        Panel(
            "Not published on purpose",
            "Rows that a route drops, changes of other tables, updates and deletes of outboxes. A jump of the last two "
            "is a publication with too much in it.",
            (
                Query(rate_by("outbox_dropped_total"), "{{service}} dropped by a route"),
                Query(rate_by("outbox_ignored_changes_total"), "{{service}} of no outbox"),
                Query(rate_by("outbox_foreign_changes_total"), "{{service}} updates and deletes"),
            ),
            unit="ops",
            width=12,
        ),
    ),
)
