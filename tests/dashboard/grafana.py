"""Grafana's formats and the layout of the dashboard; what it shows is in the files of its rows."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.dashboard.flow import FLOW
from tests.dashboard.kafka import KAFKA
from tests.dashboard.lot import LOT
from tests.dashboard.overview import OVERVIEW
from tests.dashboard.panel import Kind, Panel, Row
from tests.dashboard.queries import STATES
from tests.dashboard.slot import SLOT
from tests.dashboard.upkeep import UPKEEP

__all__ = ["ROWS", "dashboard_text"]

Document = dict[str, object]

ROWS = (OVERVIEW, SLOT, FLOW, LOT, KAFKA, UPKEEP)
RUNBOOK = "docs/operations.md"
WIDTH = 24
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
COLOURS = {"streaming": "green", "standby": "blue", "starting": "yellow", "stopping": "yellow"}  # the rest is red
CUSTOM: dict[Kind, Document] = {
    Kind.LINES: {"drawStyle": "line", "lineWidth": 1, "fillOpacity": 10, "showPoints": "never", "spanNulls": False},
    Kind.STATES: {"fillOpacity": 80, "lineWidth": 0},
}
OPTIONS: dict[Kind, Document] = {
    Kind.LINES: {
        "legend": {"displayMode": "table", "placement": "bottom", "calcs": ["lastNotNull", "max"]},
        "tooltip": {"mode": "multi", "sort": "desc"},
    },
    Kind.FIGURE: {
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "colorMode": "value",
        "graphMode": "area",
        "textMode": "auto",
    },
    Kind.STATES: {"mergeValues": True, "showValue": "auto", "rowHeight": 0.8, "legend": {"showLegend": False}},
    Kind.HEATMAP: {
        "calculate": False,
        "yAxis": {"unit": "s"},
        "color": {"mode": "scheme", "scheme": "Oranges", "steps": 64},
        "cellGap": 1,
        "tooltip": {"show": True, "yHistogram": False},
    },
}


def dashboard_text() -> str:
    return json.dumps(make_dashboard(), indent=2) + "\n"


def make_dashboard() -> Document:
    return {
        "uid": "cdc-relay",
        "title": "cdc-relay",
        "description": "Transactional outbox: from the commit in Postgres to the acknowledgement of Kafka.",
        "tags": ["cdc-relay", "outbox"],
        "schemaVersion": 38,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "timezone": "browser",
        "templating": {"list": list(_variables())},
        "annotations": {"list": [_restarts()]},
        "links": [_link("Runbook", RUNBOOK)],
        "panels": list(_lay_out(ROWS)),
    }


def _variables() -> Iterator[Document]:
    yield {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
    yield _choice("service", "Service", "label_values(outbox_state, service)")
    for name in ("outbox", "topic"):
        query = f'label_values(outbox_published_total{{service=~"$service"}}, {name})'
        yield _choice(name, name.capitalize(), query)


def _choice(name: str, label: str, query: str) -> Document:
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
    }


def _restarts() -> Document:
    """A line in every panel where a relay began."""
    started = 'process_start_time_seconds * 1000 and on (job, instance) outbox_build_info{service=~"$service"}'
    return {
        "name": "Starts",
        "datasource": SOURCE,
        "enable": True,
        "iconColor": "blue",
        "expr": started,
        "useValueForTime": True,
        "titleFormat": "started",
        "textFormat": "{{instance}}",
    }


def _lay_out(rows: tuple[Row, ...]) -> Iterator[Document]:
    number, y = 0, 0
    for row in rows:
        number += 1
        yield {"id": number, "type": "row", "title": row.title, "gridPos": _place(0, y, WIDTH, 1), "panels": []}
        x, y, height = 0, y + 1, 0
        for panel in row.panels:
            if x + panel.width > WIDTH:
                x, y, height = 0, y + height, 0
            number += 1
            yield {"id": number, "gridPos": _place(x, y, panel.width, panel.height), **_panel(panel)}
            x, height = x + panel.width, max(height, panel.height)
        y += height


def _place(x: int, y: int, width: int, height: int) -> Document:
    return {"x": x, "y": y, "w": width, "h": height}


def _panel(panel: Panel) -> Document:
    return {
        "type": panel.kind.value,
        "title": panel.title,
        "description": panel.description,
        "datasource": SOURCE,
        "targets": list(_targets(panel)),
        "fieldConfig": {"defaults": _defaults(panel), "overrides": []},
        "options": OPTIONS[panel.kind],
        "links": [_link("What to do", f"{RUNBOOK}#{panel.runbook}")] if panel.runbook else [],
    }


def _targets(panel: Panel) -> Iterator[Document]:
    for letter, query in zip("ABCDEFGH", panel.queries, strict=False):
        target: Document = {"refId": letter, "datasource": SOURCE, "expr": query.expr, "legendFormat": query.legend}
        if panel.kind is Kind.HEATMAP:
            target |= {"format": "heatmap"}
        yield target


def _defaults(panel: Panel) -> Document:
    defaults: Document = {"unit": panel.unit, "custom": dict(CUSTOM.get(panel.kind, {}))}
    if panel.minimum is not None:
        defaults["min"] = panel.minimum
    if panel.limits:
        defaults["thresholds"] = {"mode": "absolute", "steps": _steps(panel)}
        defaults["color"] = {"mode": "palette-classic" if panel.kind is Kind.LINES else "thresholds"}
    if panel.limits and panel.kind is Kind.LINES:
        defaults["custom"] = {**CUSTOM[Kind.LINES], "thresholdsStyle": {"mode": "dashed"}}
    if panel.kind is Kind.STATES:
        defaults["mappings"] = [{"type": "value", "options": _state_names()}]
    return defaults


def _steps(panel: Panel) -> list[Document]:
    """Green up to the first limit, or from the last one on where less is worse."""
    colours = ["green", "yellow", "red"] if len(panel.limits) == 2 else ["green", "red"]
    if panel.less_is_worse:
        colours.reverse()
    return [{"color": colour, "value": limit} for colour, limit in zip(colours, (None, *panel.limits), strict=True)]


def _state_names() -> Document:
    return {
        str(number): {"text": state, "color": COLOURS.get(state, "red"), "index": number}
        for number, state in enumerate(STATES, start=1)
    }


def _link(title: str, url: str) -> Document:
    return {"title": title, "type": "link", "url": url, "targetBlank": True}
