"""The alerts: promtool's tests of each, metrics that there are, and a section of the runbook for every one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.fixtures.prometheus import promtool
from tests.unit.promql import anchors_of, complaints

ROOT = Path(__file__).parents[2]
RULES = ROOT / "deploy" / "prometheus" / "rules.yml"
CASES = sorted((ROOT / "deploy" / "prometheus" / "tests").glob("*.yml"))
OPERATIONS = (ROOT / "docs" / "operations.md").read_text()
GROUPS: list[dict[str, Any]] = yaml.safe_load(RULES.read_text())["groups"]
ALERTS: list[dict[str, Any]] = [rule for group in GROUPS for rule in group["rules"] if "alert" in rule]
RECORDED = frozenset(rule["record"] for group in GROUPS for rule in group["rules"] if "record" in rule)
EXPRESSIONS: dict[str, str] = {
    rule.get("alert") or rule["record"]: rule["expr"] for group in GROUPS for rule in group["rules"]
}
WANTED_ANNOTATIONS = {"summary", "description", "runbook_url"}


def names(values: list[dict[str, Any]]) -> list[str]:
    return [str(value["alert"]) for value in values]


def stem(path: Path) -> str:
    return path.stem


def test_promtool_accepts_the_rules() -> None:
    done = promtool("check", "rules", "--lint=all", "--lint-fatal", RULES)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("case", CASES, ids=stem)
def test_promtools_tests_of_the_alerts_pass(case: Path) -> None:
    done = promtool("test", "rules", case)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("alert", names(ALERTS))
def test_an_alert_is_shown_firing_and_not_firing(alert: str) -> None:
    tests = [test for case in CASES for test in yaml.safe_load(case.read_text())["tests"]]
    shown = [each for test in tests for each in test.get("alert_rule_test", []) if each["alertname"] == alert]
    assert {bool(each["exp_alerts"]) for each in shown} == {True, False}


def test_the_tests_are_about_alerts_that_there_are() -> None:
    """promtool finds that an alert which does not exist does not fire."""
    named = {name for case in CASES for name in re.findall(r"alertname: (\w+)", case.read_text())}
    assert named - set(names(ALERTS)) == set()


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_an_expression_is_about_metrics_and_labels_that_are_exposed(name: str) -> None:
    assert complaints(EXPRESSIONS[name], RECORDED) == []


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: str(alert["alert"]))
def test_an_alert_has_what_an_operator_needs(alert: dict[str, Any]) -> None:
    assert alert["labels"]["severity"] in ("warning", "critical")
    assert alert["annotations"].keys() == WANTED_ANNOTATIONS


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: str(alert["alert"]))
def test_an_alert_leads_to_its_section_of_the_runbook(alert: dict[str, Any]) -> None:
    document, _, anchor = alert["annotations"]["runbook_url"].partition("#")
    assert document == "docs/operations.md"
    assert anchor in anchors_of(OPERATIONS)


def test_the_runbook_has_every_alert_with_the_section_that_the_alert_names() -> None:
    listed = dict(re.findall(r"^\| `(Outbox\w+)` .*\(#([\w-]+)\) \|", OPERATIONS, re.MULTILINE))
    assert listed == {each["alert"]: each["annotations"]["runbook_url"].partition("#")[2] for each in ALERTS}


@pytest.mark.parametrize(
    ("expr", "complaint"),
    [
        ("outbox_no_such_thing > 1", "no metric outbox_no_such_thing"),
        ('max by (service) (outbox_state{stat="holding"})', "outbox_state has no label stat"),
        ("sum by (topic) (outbox_reconnects_total)", "nothing has the label topic"),
        ("rate(outbox_publish_latency_seconds[5m])", "no metric outbox_publish_latency_seconds"),
    ],
)
def test_a_wrong_expression_is_noticed(expr: str, complaint: str) -> None:
    assert complaints(expr) == [complaint]


@pytest.mark.parametrize("anchor", sorted({each["annotations"]["runbook_url"].partition("#")[2] for each in ALERTS}))
def test_the_section_of_an_alert_begins_with_the_first_command(anchor: str) -> None:
    sections = re.findall(r"^## (.+)\n\n(.*(?:\n(?!## ).*)*)", OPERATIONS, re.MULTILINE)
    [text] = [text for title, text in sections if anchors_of(f"# {title}") == {anchor}]
    assert text.startswith("First:")
    assert "\n```" in text
