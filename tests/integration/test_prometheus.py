"""A real Prometheus over real relays: every query of the dashboard has data, every rule is healthy, and right."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cdc_relay.http.meters import METERS
from tests.fixtures.kafka_jars import find_jars
from tests.fixtures.postgres_install import Install
from tests.fixtures.prometheus import promtool, require
from tests.integration.prometheus_rig import SERVICE, Scene

pytestmark = [pytest.mark.kafka, pytest.mark.real_kafka]

ROOT = Path(__file__).parents[2]
RULES = ROOT / "deploy" / "prometheus" / "rules.yml"
DASHBOARD: dict[str, Any] = json.loads((ROOT / "deploy" / "grafana" / "dashboard.json").read_text())
# Grafana sets them: the interval is at least four scrapes, and "All" is the variable's allValue.
GRAFANA = {"$__rate_interval": "1m", "$service": SERVICE, "$outbox": ".*", "$topic": ".*"}


@pytest.fixture(scope="module")
def scene(postgres_install: Install, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    require("prometheus")
    jars = find_jars()
    assert isinstance(jars, Path)  # the mark real_kafka sees to it
    scene = Scene(postgres_install, jars, tmp_path_factory.mktemp("prometheus"))
    try:
        scene.start()
        yield scene
    finally:
        scene.destroy()


def queries() -> list[str]:
    written = [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", [])]
    written += [annotation["expr"] for annotation in DASHBOARD["annotations"]["list"]]
    return [substituted(expr) for expr in written]


def substituted(expr: str) -> str:
    for name, value in GRAFANA.items():
        expr = expr.replace(name, value)
    assert "$" not in expr, expr
    return expr


def test_every_query_of_the_dashboard_has_data(scene: Scene) -> None:
    assert scene.wait_until_each_has_data(queries()) == []


def test_every_variable_of_the_dashboard_has_values(scene: Scene) -> None:
    asked = [each["query"]["query"] for each in DASHBOARD["templating"]["list"] if each["type"] == "query"]
    found = {}
    for query in asked:
        [(metric, label)] = re.findall(r"^label_values\((.+), (\w+)\)$", query)
        found[label] = scene.prometheus.label_values(substituted(metric), label)
    assert found["service"] == [SERVICE]
    assert found["outbox"] == ["public.outbox"]
    assert scene.pipeline.topic in found["topic"]


def test_every_metric_is_there(scene: Scene) -> None:
    named = [f'{{__name__=~"{name}(_count)?"}}' for name in METERS]
    assert scene.wait_until_each_has_data(named) == []


def test_every_rule_is_loaded_and_healthy(scene: Scene) -> None:
    rules = [rule for group in scene.prometheus.ask("rules")["groups"] for rule in group["rules"]]
    assert len(rules) == len(re.findall(r"^ +- (?:alert|record):", RULES.read_text(), re.MULTILINE))
    scene.wait_until_each_has_data(["service:outbox_published:increase15m"])  # by then each was evaluated
    rules = [rule for group in scene.prometheus.ask("rules")["groups"] for rule in group["rules"]]
    assert [(rule["name"], rule.get("lastError")) for rule in rules if rule["health"] != "ok"] == []


def test_the_alerts_are_about_what_is_wrong_and_nothing_else(scene: Scene) -> None:
    """A dead record waits, and a topic is missing, which is told after a minute. A standby is no trouble."""
    scene.wait_for_alerts({"OutboxDeadLetters"}, apart_from={"OutboxTopicClosed"})


def test_promtool_finds_no_fault_in_the_metrics_but_for_the_name_that_was_asked_for(scene: Scene) -> None:
    assert faulty_names(scene.reader.get("/metrics")[1]) == {"outbox_backlog_gauge"}
    assert faulty_names(scene.standby.get("/metrics")[1]) == set()  # it has no lot, and so no backlog


def faulty_names(page: str) -> set[str]:
    said = promtool("check", "metrics", stdin=page)
    return {line.split()[0] for line in (said.stdout + said.stderr).splitlines()}


# --- the last ones: they take the relays away


def test_a_standby_takes_over_without_a_false_alarm(scene: Scene) -> None:
    scene.reader.kill()
    scene.wait_for_alerts({"OutboxDeadLetters", "OutboxRelayDown"}, apart_from={"OutboxTopicClosed"})
    [down] = scene.prometheus.query('ALERTS{alertname="OutboxRelayDown"}')
    assert down["metric"]["instance"] == f"127.0.0.1:{scene.reader.http_port}"
    assert scene.wait_until_each_has_data(queries()) == []


def test_a_service_without_a_relay_is_told(scene: Scene) -> None:
    assert scene.wait_until_each_has_data(["outbox_slot_active"]) == []
    scene.reader.kill()
    scene.standby.kill()
    scene.wait_for_alerts({"OutboxRelayGone"})
    [gone] = scene.prometheus.query('ALERTS{alertname="OutboxRelayGone"}')
    assert gone["metric"]["service"] == SERVICE
