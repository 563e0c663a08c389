"""How far the slot is, and how much room Postgres has for it."""

from __future__ import annotations

from tests.dashboard.panel import Panel, Query, Row
from tests.dashboard.queries import OURS, largest, rate_by

__all__ = ["SLOT"]

HEADROOM = f"outbox_slot_wal_headroom_bytes{{{OURS}}}"
LIMIT = f"outbox_slot_wal_limit_bytes{{{OURS}}}"

SLOT = Row(
    "Slot",
    (
        Panel(
            "Behind, in time",
            "Above five minutes is an alert. Unknown, and not shown, while the relay does not read.",
            (Query(largest("outbox_slot_lag_seconds")),),
            unit="s",
            limits=(300,),
            runbook="slot-lag-grows",
        ),
        Panel(
            "Behind, in WAL",
            "All WAL of the server counts: saw teeth of some megabytes in an idle outbox are normal.",
            (Query(largest("outbox_slot_lag_bytes")),),
            unit="bytes",
            runbook="slot-lag-grows",
        ),
        Panel(
            "Slot is read",
            "0: nobody reads. Rows stay in the slot, and WAL with them.",
            (Query(largest("outbox_slot_active")),),
            runbook="waiting",
        ),
        Panel(
            "WAL headroom",
            "What may still be written before Postgres drops the slot's WAL. Not shown without max_slot_wal_keep_size: "
            "then the disk is the limit.",
            (Query(f"min by (service) ({HEADROOM})"), Query(f"min by (service) ({LIMIT})", "{{service}} limit")),
            unit="bytes",
            runbook="wal-headroom-is-low",
        ),
        Panel(
            "WAL headroom, share",
            "Below 30 % is an alert, at 0 the slot is lost.",
            (Query(f"min by (service) ({HEADROOM} / {LIMIT})"),),
            unit="percentunit",
            limits=(0.3, 0.5),
            less_is_worse=True,
            minimum=None,
            runbook="wal-headroom-is-low",
        ),
        Panel(
            "Time until the slot is lost",
            "At the pace of the last half hour; 30 days stand for a slot that follows.",
            (
                Query(
                    f"min by (service) (clamp_max({HEADROOM} / clamp_min(-deriv({HEADROOM}[30m]), 1), 30 * 86400))",
                ),
            ),
            unit="s",
            runbook="wal-headroom-is-low",
        ),
        Panel(
            "Reconnects",
            "Times that the replication line was opened again, in ten minutes. Now and then is a restart of Postgres.",
            (Query(f"sum by (service) (increase(outbox_reconnects_total{{{OURS}}}[10m]))"),),
            runbook="waiting",
            width=12,
        ),
        Panel(
            "Transactions per second",
            "Read from the slot, whether they have records or not.",
            (Query(rate_by("outbox_transactions_total")),),
            unit="ops",
            width=12,
        ),
    ),
)
