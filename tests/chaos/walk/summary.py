"""The table of a walk, in markdown: what was done, and what the oracle found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tests.chaos.walk.fault import Fault
from tests.fixtures.history import Report

__all__ = ["summarise"]


def summarise(report: Report, struck: Sequence[Fault], known: Iterable[Fault]) -> str:
    counts = Counter(fault.name for fault in struck)
    lines = ["| fault | times | duplicates that it explains |", "|---|---|---|"]
    lines += [f"| {fault.name} | {counts[fault.name]} | {report.explanations[fault.name]:,} |" for fault in known]
    lines += ["", "| what | count |", "|---|---|"]
    lines += [f"| {what} | {count:,} |" for what, count in _found(report, len(struck)).items()]
    return "\n".join(lines)


def _found(report: Report, fault_count: int) -> dict[str, int]:
    return {
        "faults injected": fault_count,
        "events committed": report.committed_count,
        "deliveries": report.delivery_count,
        "lost": len(report.lost),
        "phantom": len(report.phantom),
        "out of order": len(report.order_violations),
        "keys that end on an old event": len(report.stale_last),
        "passed by the slot before delivery": len(report.slot_violations),
        "in two places": len(report.two_places),
        "waiting in the lot": report.waiting_count,
        "discarded": report.discarded_count,
        "duplicates": len(report.duplicates),
        "of them without a reason": len(report.unexplained),
        "slot checks": report.slot_check_count,
    }
