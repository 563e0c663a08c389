"""What a PromQL expression names: its metrics with their labels, by a walk over its words. No full parser."""

from __future__ import annotations

import re
from typing import NamedTuple

from cdc_relay.http.meters import METERS, Kind

__all__ = ["Selector", "anchors_of", "complaints"]

WORDS = frozenset(
    {
        *("by", "without", "on", "ignoring", "group_left", "group_right", "and", "or", "unless", "offset"),
        *("sum", "min", "max", "count", "group", "topk", "rate", "increase", "changes", "deriv", "time", "vector"),
        *("absent_over_time", "last_over_time", "histogram_quantile", "clamp_min", "clamp_max"),
    }
)
OF_THE_TARGET = frozenset({"job", "instance"})  # what Prometheus adds
FOREIGN = {"up": frozenset[str](), "ALERTS": frozenset({"alertname", "alertstate", "service"})}
BARE: dict[str, set[str]] = {"": set()}
GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right) *\(([^)]*)\)")
SUFFIXES: dict[Kind, dict[str, set[str]]] = {
    Kind.HISTOGRAM: {"_bucket": {"le"}, "_sum": set(), "_count": set()},
    Kind.SUMMARY: {"_sum": set(), "_count": set()},
}


class Selector(NamedTuple):
    metric: str
    labels: frozenset[str]


def complaints(expr: str, recorded: frozenset[str] = frozenset()) -> list[str]:
    """Everything in it that no relay exposes: metrics that there are not, labels that they have not."""
    found = selectors(expr)
    unknown = [f"no metric {each.metric}" for each in found if labels_of(each.metric, recorded) is None]
    wrong = [
        f"{each.metric} has no label {label}"
        for each in found
        for label in each.labels - (labels_of(each.metric, recorded) or each.labels)
    ]
    anyone = frozenset().union(*(labels_of(each.metric, recorded) or () for each in found), OF_THE_TARGET)
    return unknown + wrong + [f"nothing has the label {label}" for label in grouped(expr) - anyone]


def selectors(expr: str) -> list[Selector]:
    plain = re.sub(r"\[[^]]*\]|offset \w+", "", GROUPING.sub("", expr))  # ranges are no metrics
    named = re.findall(r"([a-zA-Z_:][\w:]*)\s*(\{[^}]*\})?", re.sub(r'"[^"]*"', '""', plain))
    return [
        Selector(name, frozenset(re.findall(r"(\w+)\s*(?:=|!)", matchers)))
        for name, matchers in named
        if name not in WORDS
    ]


def grouped(expr: str) -> frozenset[str]:
    return frozenset(label.strip() for group in GROUPING.findall(expr) for label in group.split(",") if label.strip())


def labels_of(metric: str, recorded: frozenset[str]) -> frozenset[str] | None:
    """None where there is no such metric."""
    if metric in FOREIGN:
        return FOREIGN[metric]
    if metric in recorded:
        return frozenset({"service"})
    if metric.startswith("process_"):
        return OF_THE_TARGET
    return exposed().get(metric)


def exposed() -> dict[str, frozenset[str]]:
    """Every name that stands on the page, with all of its labels."""
    series = {}
    for meter in METERS.values():
        for suffix, more in SUFFIXES.get(meter.kind, BARE).items():
            series[meter.name + suffix] = frozenset({"service", *meter.labels, *more}) | OF_THE_TARGET
    return series


def anchors_of(markdown: str) -> set[str]:
    """As GitHub makes them from headings."""
    titles = re.findall(r"^#+ (.+)$", markdown, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
