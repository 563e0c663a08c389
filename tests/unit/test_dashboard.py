"""The dashboard: as its generator makes it, over metrics that there are, its panels with a section of the runbook."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import yaml

from cdc_relay.stats import State
from tests.dashboard.grafana import ROWS, dashboard_text
from tests.dashboard.queries import STATES
from tests.unit.promql import anchors_of, complaints

ROOT = Path(__file__).parents[2]
WRITTEN = (ROOT / "deploy" / "grafana" / "dashboard.json").read_text()
OPERATIONS = (ROOT / "docs" / "operations.md").read_text()
PANELS = [panel for row in ROWS for panel in row.panels]
QUERIES = [query.expr for panel in PANELS for query in panel.queries]
GROUPS: list[dict[str, Any]] = yaml.safe_load((ROOT / "deploy" / "prometheus" / "rules.yml").read_text())["groups"]
RULES = [rule for group in GROUPS for rule in group["rules"]]
RECORDED = frozenset(rule["record"] for rule in RULES if "record" in rule)


def test_the_dashboard_is_the_generated_one() -> None:
    assert dashboard_text() == WRITTEN, "run: python -m tests.dashboard > deploy/grafana/dashboard.json"


def test_every_query_is_about_metrics_and_labels_that_are_exposed() -> None:
    assert {expr: found for expr in QUERIES if (found := complaints(expr, RECORDED))} == {}


def test_what_is_recorded_is_used_by_an_alert_or_a_panel() -> None:
    used = [*QUERIES, *(rule["expr"] for rule in RULES if "alert" in rule)]
    assert [name for name in sorted(RECORDED) if not any(name in expr for expr in used)] == []


def test_every_query_shows_the_chosen_services_alone() -> None:
    assert [expr for expr in QUERIES if 'service=~"$service"' not in expr] == []


def test_every_panel_says_what_it_means() -> None:
    assert [panel.title for panel in PANELS if not panel.description.endswith(".")] == []


def test_every_panels_link_leads_to_a_section_of_the_runbook() -> None:
    known = anchors_of(OPERATIONS)
    assert [panel.title for panel in PANELS if panel.runbook and panel.runbook not in known] == []


def test_the_states_are_those_there_are() -> None:
    assert sorted(STATES) == sorted(state.value for state in State)


def test_no_panel_lies_on_another() -> None:
    places = {panel["id"]: set(cells(**panel["gridPos"])) for panel in json.loads(WRITTEN)["panels"]}
    assert [(one, other) for one, other in combinations(places, 2) if places[one] & places[other]] == []
    assert len(places) == len(PANELS) + len(ROWS)


def cells(x: int, y: int, w: int, h: int) -> list[tuple[int, int]]:
    return [(column, line) for column in range(x, x + w) for line in range(y, y + h)]
