"""Compose file, manifests, unit and image agree with each other and with the relay: commands, files, ports, limits."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
import yaml

from cdc_relay.cli import cli
from cdc_relay.config.address import split_address
from cdc_relay.config.loader import parse
from cdc_relay.config.models import RelayConfig
from cdc_relay.http.pages import build_pages
from cdc_relay.stats import Stats
from tests.deploy.files import PORT, ROOT, compose, instruction, manifest, relay_commands, unit

FILES = {
    "compose": ROOT / "deploy/compose/relay.yaml",
    "kubernetes": ROOT / "deploy/kubernetes/config/relay.yaml",
    "systemd": ROOT / "deploy/systemd/relay.yaml",
}
SECRET = re.compile(r"\$\{file:([^}]+)\}")
EVERYWHERE = pytest.mark.parametrize("place", FILES)

COMMIT_SECONDS = 10  # to confirm after the drain
LARGEST_RSS_BYTES = 150_000_000  # what test_large_transactions.py holds a million rows to

RELAY = compose()["services"]["relay"]
POD = manifest("Deployment")["spec"]["template"]["spec"]
[CONTAINER] = POD["containers"]
SERVICE = {name: values[-1] for name, values in unit()["Service"].items()}


def load(place: str, tmp_path: Path) -> RelayConfig:
    """With some password where the file expects one."""
    secret = tmp_path / "password"
    secret.write_text("secret")
    text = SECRET.sub(f"${{file:{secret}}}", FILES[place].read_text())
    return parse(text, file=place, environment={}, folder=tmp_path)


@pytest.mark.parametrize("words", [pytest.param(words, id=where) for where, words in relay_commands()])
def test_every_command_is_one_of_the_relay(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CDC_RELAY_CONFIG", instruction("ENV"))  # each has the file by its variable
    command: click.Command = cli
    context = click.Context(cli, info_name="cdc-relay")
    while isinstance(command, click.Group):
        _, found, words = command.resolve_command(context, words)
        assert found is not None
        command = found
    command.make_context(command.name, words, parent=context)


@EVERYWHERE
def test_every_file_of_the_relay_loads(place: str, tmp_path: Path) -> None:
    assert load(place, tmp_path).outboxes


def mounted_secrets(place: str) -> set[str]:
    if place == "compose":
        return {f"/run/secrets/{secret['target']}" for secret in RELAY["secrets"]}
    if place == "systemd":
        credentials = unit()["Service"]["LoadCredential"]
        return {f"/run/credentials/cdc-relay.service/{each.partition(':')[0]}" for each in credentials}
    folders = {mount["name"]: mount["mountPath"] for mount in CONTAINER["volumeMounts"]}
    keys = manifest("Secret")["stringData"]
    return {f"{folders[volume['name']]}/{key}" for volume in POD["volumes"] if "secret" in volume for key in keys}


@EVERYWHERE
def test_a_password_is_where_the_file_looks_for_it(place: str) -> None:
    [path] = SECRET.findall(FILES[place].read_text())
    assert path in mounted_secrets(place)


def test_the_file_is_mounted_where_the_image_expects_it() -> None:
    expected = re.findall(r"CDC_RELAY_CONFIG=(\S+)", instruction("ENV"))
    [mount] = RELAY["volumes"]
    [folder] = [each["mountPath"] for each in CONTAINER["volumeMounts"] if each["name"] == "config"]
    assert [mount.split(":")[1]] == expected
    assert [f"{folder}/{FILES['kubernetes'].name}"] == expected
    assert [SERVICE["Environment"].removeprefix("CDC_RELAY_CONFIG=")] == expected


@pytest.mark.parametrize("place", ["compose", "kubernetes"])
def test_in_a_container_every_address_is_listened_on(place: str, tmp_path: Path) -> None:
    """On the loopback of a container nobody could ask."""
    assert split_address(load(place, tmp_path).http.listen) == ("0.0.0.0", PORT)


def test_every_port_is_that_of_the_relay() -> None:
    policy = manifest("NetworkPolicy")["spec"]["ingress"][0]["ports"]
    scrape = yaml.safe_load((ROOT / "deploy/prometheus/prometheus.yml").read_text())["scrape_configs"][0]
    ports = [
        int(RELAY["ports"][0].rpartition(":")[2]),
        int(re.findall(r"127\.0\.0\.1:(\d+)/", RELAY["healthcheck"]["test"][-1])[0]),
        CONTAINER["ports"][0]["containerPort"],
        manifest("Service")["spec"]["ports"][0]["port"],
        policy[0]["port"],
        int(scrape["static_configs"][0]["targets"][0].rpartition(":")[2]),
    ]
    assert ports == [PORT] * len(ports)


def test_every_page_that_is_asked_for_is_served() -> None:
    asked = {CONTAINER[probe]["httpGet"]["path"] for probe in ("livenessProbe", "readinessProbe")}
    asked |= set(re.findall(r":\d+(/\w+)", RELAY["healthcheck"]["test"][-1]))
    asked |= {endpoint["path"] for endpoint in manifest("ServiceMonitor")["spec"]["endpoints"]}
    assert asked == {"/livez", "/readyz", "/metrics"}
    assert asked <= set(build_pages(Stats()))


def test_a_stop_has_time_to_drain_and_to_confirm(tmp_path: Path) -> None:
    given = {
        "compose": seconds(RELAY["stop_grace_period"]),
        "kubernetes": POD["terminationGracePeriodSeconds"],
        "systemd": seconds(SERVICE["TimeoutStopSec"]),
    }
    for place, limit in given.items():
        assert limit > load(place, tmp_path).delivery.drain_seconds + COMMIT_SECONDS, place


def test_the_limit_of_memory_is_above_what_a_large_transaction_takes() -> None:
    limits = [CONTAINER["resources"]["limits"]["memory"], RELAY["mem_limit"], SERVICE["MemoryMax"]]
    assert len({mebibytes(limit) for limit in limits}) == 1
    assert mebibytes(limits[0]) * 1024 * 1024 > LARGEST_RSS_BYTES


def seconds(text: str) -> int:
    return int(text.removesuffix("s"))


def mebibytes(text: str) -> int:
    return int(text.upper().removesuffix("I").removesuffix("M"))
