"""docs/alerts.md: what it shows is accepted, and does what it says."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import yaml

from tests.fixtures.prometheus import promtool

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "alerts.md").read_text()
RULES = ROOT / "deploy" / "prometheus" / "rules.yml"
DASHBOARD = ROOT / "deploy" / "grafana" / "dashboard.json"


def block(section: str, language: str) -> str:
    [text] = re.findall(rf"^## {section}\n.*?^```{language}\n(.*?)^```", DOCUMENT, re.MULTILINE | re.DOTALL)
    return str(text)


def test_prometheus_accepts_the_configuration_that_is_shown(tmp_path: Path) -> None:
    shutil.copy(RULES, tmp_path)
    (tmp_path / "prometheus.yml").write_text(block("Prometheus", "yml"))
    done = promtool("check", "config", tmp_path / "prometheus.yml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rules found" in done.stdout


def test_the_command_makes_every_link_an_address(tmp_path: Path) -> None:
    for file in (RULES, DASHBOARD):
        shutil.copy(file, tmp_path)
    subprocess.run(block("Links to the runbook", "sh"), shell=True, cwd=tmp_path, check=True)
    texts = [(tmp_path / file.name).read_text() for file in (RULES, DASHBOARD)]
    links = [
        link for text in texts for link in re.findall(r'(?:runbook_url: |"url": ")(\S+operations\.md[^"\s]*)', text)
    ]
    assert len(links) > 50
    assert [link for link in links if not link.startswith("https://")] == []
    assert promtool("check", "rules", tmp_path / "rules.yml").returncode == 0


def test_the_alerts_that_silence_others_are_alerts_of_ours() -> None:
    known = set(re.findall(r"- alert: (\w+)", RULES.read_text()))
    named = re.findall(r"Outbox\w+", yaml.safe_dump(yaml.safe_load(block("One cause, one page", "yml"))))
    assert len(named) == 8
    assert set(named) - known == set()


def test_every_alert_that_is_named_exists() -> None:
    known = set(re.findall(r"- alert: (\w+)", RULES.read_text()))
    assert set(re.findall(r"`(Outbox\w+)`", DOCUMENT)) - known == set()
