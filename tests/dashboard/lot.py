"""What is parked, why, and how much more may be."""

from __future__ import annotations

from tests.dashboard.panel import Panel, Query, Row
from tests.dashboard.queries import OURS, largest, rate_by

__all__ = ["LOT"]

_RECORDS_SHARE = f"sum without (status) (outbox_lot_records{{{OURS}}}) / outbox_lot_limit_records{{{OURS}}}"
_BYTES_SHARE = f"outbox_lot_bytes{{{OURS}}} / outbox_lot_limit_bytes{{{OURS}}}"

LOT = Row(
    "Lot",
    (
        Panel(
            "Parked records, by status",
            "Dead ones wait for an operator, the others go on by themselves.",
            (Query(largest("outbox_lot_records", "service, status"), "{{service}} {{status}}"),),
            runbook="records-are-parked",
        ),
        Panel(
            "Oldest parked record",
            "A scheduled one may be old in good order; a retrying one tells how long a topic has refused.",
            (Query(largest("outbox_lot_oldest_seconds")),),
            unit="s",
            runbook="records-are-parked",
        ),
        Panel(
            "Fill of the lot",
            "Of parking.limit. Above 80 % is an alert, at 100 % the relay holds.",
            (
                Query(f"max by (service) ({_RECORDS_SHARE})", "{{service}} records"),
                Query(f"max by (service) ({_BYTES_SHARE})", "{{service}} bytes"),
            ),
            unit="percentunit",
            limits=(0.8, 1),
            runbook="the-lot-is-nearly-full",
        ),
        Panel(
            "Parked per second, by reason",
            "failure: refused; topic_closed: its topic takes nothing; behind: waits for its key; schedule: not due.",
            (Query(rate_by("outbox_parked_total", "service, reason"), "{{service}} {{reason}}"),),
            unit="ops",
            runbook="records-are-parked",
        ),
        Panel(
            "Published from the lot, per second",
            "Retries that succeeded, topics that opened again, and what became due.",
            (Query(rate_by("outbox_republished_total")),),
            unit="ops",
        ),
        Panel(
            "Size of the lot",
            "Keys, values, headers and rows, as the limit counts them.",
            (Query(largest("outbox_lot_bytes")),),
            unit="bytes",
            runbook="the-lot-is-nearly-full",
        ),
    ),
)
