"""docker-compose.yml: valid, complete, closed to the network, and the relay confined."""

from __future__ import annotations

import subprocess

import pytest

from tests.deploy.files import COMPOSE, ROOT, Manifest, compose
from tests.deploy.tools import require

SERVICES: dict[str, Manifest] = compose()["services"]
OURS = [name for name, service in SERVICES.items() if service["image"] == "cdc-relay"]


def test_docker_compose_takes_it() -> None:
    program = require("docker-compose", "docker-compose")
    answer = subprocess.run(
        [program, "--file", COMPOSE, "config"], capture_output=True, text=True, check=False, timeout=60, cwd=ROOT
    )
    assert (answer.returncode, answer.stderr) == (0, "")


def test_an_image_is_built_by_one_service() -> None:
    """Compose builds at once what has `build`: of two with one tag, one fails with `already exists`."""
    built = [service["image"] for service in SERVICES.values() if "build" in service]
    assert built == ["cdc-relay"]


@pytest.mark.parametrize("name", OURS)
def test_whoever_needs_the_image_waits_for_its_builder_and_asks_no_registry(name: str) -> None:
    assert [each for each in [name, *waited_for(name)] if "build" in SERVICES[each]] == ["setup"]
    assert SERVICES[name]["pull_policy"] == "never"


def waited_for(name: str) -> set[str]:
    """All of them, however far away."""
    direct = set(SERVICES[name].get("depends_on", {}))
    return direct.union(*(waited_for(each) for each in direct))


def host_paths() -> list[str]:
    mounts = [mount.split(":")[0] for service in SERVICES.values() for mount in service.get("volumes", [])]
    secrets = [secret["file"] for secret in compose()["secrets"].values()]
    return sorted({path for path in mounts if path.startswith("./")} | set(secrets))


@pytest.mark.parametrize("path", host_paths())
def test_what_is_mounted_is_there(path: str) -> None:
    """Docker would make an empty folder of it."""
    assert (ROOT / path).exists()


def test_named_volumes_are_declared() -> None:
    mounts = [mount.split(":")[0] for service in SERVICES.values() for mount in service.get("volumes", [])]
    assert {name for name in mounts if not name.startswith(".")} == set(compose()["volumes"])


@pytest.mark.parametrize("name", OURS)
def test_the_relay_is_confined(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]


def test_every_port_is_on_the_loopback_of_the_host() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert ports and [port for port in ports if not port.startswith("127.0.0.1:")] == []


def test_every_password_says_that_it_is_for_the_demonstration() -> None:
    texts = [(ROOT / secret["file"]).read_text() for secret in compose()["secrets"].values()]
    assert [text for text in texts if not text.startswith("demo-only-")] == []


def test_what_is_waited_for_is_known_to_end_or_to_be_healthy() -> None:
    for name, service in SERVICES.items():
        for other, how in service.get("depends_on", {}).items():
            wanted = how["condition"]
            assert (wanted == "service_healthy") == ("healthcheck" in SERVICES[other]), f"{name} on {other}"


def test_the_relay_starts_after_its_database_and_topics_are_made() -> None:
    assert set(SERVICES["relay"]["depends_on"]) == {"grants", "topics"}
    assert set(SERVICES["grants"]["depends_on"]) == {"setup"}
