"""A Report as JSON has it, with the verdict. Pure; docs/status.md explains every field."""

from __future__ import annotations

from dataclasses import asdict

from cdc_relay.admin.status.advice import judge
from cdc_relay.admin.status.report import Report

__all__ = ["report_document"]


def report_document(report: Report) -> dict[str, object]:
    return {**asdict(report), "verdict": asdict(judge(report))}
