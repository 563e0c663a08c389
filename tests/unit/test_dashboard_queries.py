"""Queries of panels that promtool evaluates: a topic's counters begin with its first record, and a failure is seen."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from tests.dashboard.grafana import ROWS
from tests.fixtures.prometheus import promtool

RULES = Path(__file__).parents[2] / "deploy" / "prometheus" / "rules.yml"
GRAFANA = {"$__rate_interval": "1m", "$service": "orders", "$outbox": ".*", "$topic": ".*"}
LABELS = 'service="orders",instance="a",outbox="o",topic='
# From minute 29 on: the first record of a topic is one that is given up.
SERIES = {
    f'outbox_published_total{{{LABELS}"t"}}': "1000+5x60",
    f'outbox_failed_permanent_total{{{LABELS}"t"}}': "0x60",
    f'outbox_published_total{{{LABELS}"(none)"}}': "_x29 0x30",
    f'outbox_failed_permanent_total{{{LABELS}"(none)"}}': "_x29 25x30",
}


def expression(title: str) -> str:
    [panel] = [panel for row in ROWS for panel in row.panels if panel.title.startswith(title)]
    [query] = panel.queries
    expr = query.expr
    for name, value in GRAFANA.items():
        expr = expr.replace(name, value)
    return expr


def objections(expr: str, minute: int, samples: Mapping[str, float], directory: Path) -> str:
    """What promtool has to say against it."""
    expected = [{"labels": labels, "value": value} for labels, value in samples.items()]
    test = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in SERIES.items()],
        "promql_expr_test": [{"expr": expr, "eval_time": f"{minute}m", "exp_samples": expected}],
    }
    case = directory / "case.yml"
    case.write_text(yaml.safe_dump({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": [test]}))
    done = promtool("test", "rules", case)
    return "" if done.returncode == 0 else done.stdout + done.stderr


@pytest.mark.parametrize(("minute", "count"), [(35, 25), (50, 0)])
def test_a_topic_that_begins_with_its_failures_is_shown_for_15_minutes(minute: int, count: int, tmp_path: Path) -> None:
    samples = {'{service="orders", topic="(none)"}': count, '{service="orders", topic="t"}': 0}
    assert objections(expression("Given up"), minute, samples, tmp_path) == ""


@pytest.mark.parametrize(("minute", "share"), [(35, 0.25), (50, 0)])
def test_the_share_of_failures_has_those_that_a_topic_begins_with(minute: int, share: float, tmp_path: Path) -> None:
    samples = {'{service="orders"}': share}
    assert objections(expression("Share of records"), minute, samples, tmp_path) == ""
