"""Findings as lines for people and as a document for programs. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from cdc_relay.admin.check.finding import Finding, Level
from cdc_relay.parking.desk_text import safe
from cdc_relay.sources.remedy import Step, Way

__all__ = ["document", "lines"]

_FILE = "-c FILE"
_INDENT = " " * 6


def lines(findings: Sequence[Finding], *, config: str) -> Iterator[str]:
    """`config`: the file, as a shell takes it."""
    width = max((len(finding.name) for finding in findings), default=0)
    for finding in findings:
        yield f"{finding.level.value:<4}  {finding.name:<{width}}  {safe(finding.found)}"
        if finding.level is not Level.OK:
            yield f"{_INDENT}at stake: {finding.stake}"
            yield from _fix_lines(finding.steps, config)
    yield _summary(findings)


def document(findings: Sequence[Finding], *, config: str) -> dict[str, object]:
    return {"summary": _counts(findings), "findings": [_as_object(finding, config) for finding in findings]}


def _fix_lines(steps: Sequence[Step], config: str) -> Iterator[str]:
    for place, step in enumerate(steps):
        yield f"{_INDENT}{'     ' if place else 'fix: '}{safe(_pasteable(step.way, _named(step, config)))}"


def _pasteable(way: Way, text: str) -> str:
    match way:
        case Way.SQL:
            return text if text.endswith(";") else f"{text};"
        case Way.WORDS:
            return f"({text})"
        case _:
            return text


def _as_object(finding: Finding, config: str) -> dict[str, object]:
    shown: dict[str, object] = {"level": finding.level.value, "name": finding.name, "found": finding.found}
    if finding.level is not Level.OK:
        shown["stake"] = finding.stake
        shown["fix"] = [{"way": step.way.value, "text": _named(step, config)} for step in finding.steps]
    return shown


def _named(step: Step, config: str) -> str:
    return step.text.replace(_FILE, f"-c {config}")


def _counts(findings: Sequence[Finding]) -> dict[str, int]:
    counted = Counter(finding.level for finding in findings)
    return {level.value: counted[level] for level in Level}


def _summary(findings: Sequence[Finding]) -> str:
    counts = _counts(findings)
    verdict = "do not start the relay like this" if counts["fail"] else "the relay can start"
    return f"{counts['ok']} ok, {counts['warn']} to be warned of, {counts['fail']} failed: {verdict}"
