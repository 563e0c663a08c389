"""What is around the relay in docker-compose.yml: Prometheus takes its file, and Grafana finds data and dashboard."""

from __future__ import annotations

import json
import subprocess

import yaml

from tests.deploy.files import ROOT, Manifest, compose
from tests.deploy.tools import require

PROMETHEUS = ROOT / "deploy" / "prometheus" / "prometheus.yml"
PROVISIONING = ROOT / "deploy" / "grafana" / "provisioning"
SERVICES = compose()["services"]


def mounts(service: str) -> dict[str, str]:
    """Inside -> outside."""
    pairs = [mount.split(":")[:2] for mount in SERVICES[service]["volumes"]]
    return {inside: outside for outside, inside in pairs}


def provisioned(path: str) -> Manifest:
    document: Manifest = yaml.safe_load((PROVISIONING / path).read_text())
    return document


def test_prometheus_takes_its_file_and_the_rules() -> None:
    program = require("promtool", "prometheus")
    answer = subprocess.run(
        [program, "check", "config", PROMETHEUS], capture_output=True, text=True, check=False, timeout=60
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "1 rule files found" in answer.stdout


def test_the_rules_lie_beside_the_file_in_the_container_too() -> None:
    inside = mounts("prometheus")
    assert inside["/etc/prometheus/prometheus.yml"] == "./deploy/prometheus/prometheus.yml"
    assert inside["/etc/prometheus/rules.yml"] == "./deploy/prometheus/rules.yml"


def test_the_relay_is_scraped_by_the_name_of_its_service() -> None:
    [job] = yaml.safe_load(PROMETHEUS.read_text())["scrape_configs"]
    [target] = job["static_configs"][0]["targets"]
    assert target.partition(":")[0] in SERVICES
    assert job.get("metrics_path", "/metrics") == "/metrics"


def test_grafana_asks_the_prometheus_of_the_compose_file() -> None:
    [source] = provisioned("datasources/prometheus.yml")["datasources"]
    assert source["url"] == "http://prometheus:9090"
    assert SERVICES["prometheus"]["ports"] == ["127.0.0.1:9090:9090"]


def test_the_dashboard_is_mounted_into_the_folder_that_grafana_reads() -> None:
    [provider] = provisioned("dashboards/cdc-relay.yml")["providers"]
    folder = provider["options"]["path"]
    home = SERVICES["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert home.rpartition("/")[0] == folder
    assert mounts("grafana")[home] == "./deploy/grafana/dashboard.json"


def test_the_dashboard_names_no_other_source_of_data() -> None:
    [source] = provisioned("datasources/prometheus.yml")["datasources"]
    text = json.loads((ROOT / "deploy" / "grafana" / "dashboard.json").read_text())
    assert set(uids(text)) <= {source["uid"], "${datasource}", "-- Grafana --", "grafana"}


def uids(node: object) -> list[str]:
    """Of every `datasource`, however deep."""
    match node:
        case {"datasource": {"uid": str(uid)}, **rest}:
            return [uid, *uids(list(rest.values()))]
        case dict():
            return uids(list(node.values()))
        case list():
            return [uid for each in node for uid in uids(each)]
        case _:
            return []
