"""The process itself, its certificates and its retention."""

from __future__ import annotations

from tests.dashboard.panel import Panel, Query, Row
from tests.dashboard.queries import EACH, OURS, RATE, of_process, rate_by

__all__ = ["UPKEEP"]

_CERTIFICATES = f"outbox_certificate_expiry_timestamp_seconds{{{OURS}}}"
_RETENTION = f"outbox_retention_last_run_timestamp_seconds{{{OURS}}}"

UPKEEP = Row(
    "Process and upkeep",
    (
        Panel(
            "Memory",
            "Bounded by the window; docs/operations.md, Sizing, has the formula.",
            (Query(of_process("process_resident_memory_bytes"), EACH),),
            unit="bytes",
            runbook="sizing",
        ),
        Panel(
            "CPU",
            "One core is the most that a relay can use. At one, it is the slower side.",
            (Query(of_process(f"rate(process_cpu_seconds_total{RATE})"), EACH),),
            unit="percentunit",
            limits=(0.9,),
            runbook="latency-is-high",
        ),
        Panel(
            "Open files",
            "Of those that it may open.",
            (
                Query(of_process("process_open_fds"), EACH),
                Query(of_process("process_max_fds"), f"{EACH} limit"),
            ),
        ),
        Panel(
            "Since the loop last turned",
            "Above 30 s /livez fails, and the orchestrator restarts the process.",
            (Query(f"max by (service, instance) (outbox_loop_silent_seconds{{{OURS}}})", EACH),),
            unit="s",
            limits=(30,),
            runbook="the-relay-restarts-or-hangs",
        ),
        Panel(
            "Running since",
            "A fall is a restart.",
            (Query(of_process("(time() - process_start_time_seconds)"), EACH),),
            unit="s",
            runbook="the-relay-restarts-or-hangs",
        ),
        Panel(
            "Version",
            "Two at once: an upgrade is under way, or half done.",
            (Query(f"count by (service, version, python) (outbox_build_info{{{OURS}}})", "{{service}} {{version}}"),),
        ),
        Panel(
            "Certificates: time left",
            "Below 30 days is an alert. Not shown without TLS.",
            (Query(f"min by (service, certificate) ({_CERTIFICATES}) - time()", "{{service}} {{certificate}}"),),
            unit="s",
            limits=(7 * 86400, 30 * 86400),
            less_is_worse=True,
            minimum=None,
            runbook="a-certificate-expires",
        ),
        Panel(
            "Since retention finished",
            "Above a day is an alert. Not shown where retention is off.",
            (Query(f"time() - max by (service) ({_RETENTION})"),),
            unit="s",
            limits=(86400,),
            runbook="retention-fails",
        ),
        Panel(
            "Retention",
            "Rows removed per second, and partitions made or dropped in an hour.",
            (
                Query(rate_by("outbox_retention_removed_rows_total", "service, table"), "{{service}} {{table}} rows"),
                Query(
                    "sum by (service, table, action) (increase(outbox_retention_partitions_total{" + OURS + "}[1h]))",
                    "{{service}} {{table}} {{action}}",
                ),
            ),
            runbook="retention-fails",
        ),
    ),
)
