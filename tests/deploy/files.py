"""What is deployed, as the tests read it: the compose file, the manifests, the Dockerfile, the unit."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from dockerfile_parse import DockerfileParser

__all__ = [
    "COMPOSE",
    "KUBERNETES",
    "PORT",
    "ROOT",
    "UNIT",
    "Instruction",
    "Manifest",
    "command_of",
    "compose",
    "dockerfile",
    "instruction",
    "manifest",
    "manifests",
    "relay_commands",
    "unit",
]

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "docker-compose.yml"
KUBERNETES = ROOT / "deploy" / "kubernetes"
UNIT = ROOT / "deploy" / "systemd" / "cdc-relay.service"
PORT = 9464

Manifest = dict[str, Any]  # a document of YAML, of any shape


class Instruction(NamedTuple):
    name: str
    value: str


@cache
def dockerfile() -> list[Instruction]:
    parsed = DockerfileParser(path=str(ROOT / "Dockerfile"), cache_content=True).structure
    return [Instruction(step["instruction"], step["value"]) for step in parsed if step["instruction"] != "COMMENT"]


def instruction(name: str) -> str:
    """The last one of that name: it is the final stage's."""
    return [step.value for step in dockerfile() if step.name == name][-1]


@cache
def compose() -> Manifest:
    """With anchors resolved and every ${NAME:-default} at its default."""
    text = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", COMPOSE.read_text())
    document: Manifest = yaml.safe_load(text)
    return document


def command_of(service: Manifest) -> list[str]:
    """As the container gets it: $$ is a dollar sign."""
    command = service.get("command", [])
    words = shlex.split(command) if isinstance(command, str) else command
    return [word.replace("$$", "$") for word in words]


@cache
def manifests() -> list[Manifest]:
    """Every object in deploy/kubernetes, without what is for kustomize alone."""
    files = [path for path in KUBERNETES.rglob("*.yaml") if path.name not in ("kustomization.yaml", "relay.yaml")]
    return [document for path in sorted(files) for document in yaml.safe_load_all(path.read_text())]


def manifest(kind: str, name: str = "cdc-relay") -> Manifest:
    [found] = [each for each in manifests() if (each["kind"], each["metadata"]["name"]) == (kind, name)]
    return found


@cache
def unit() -> dict[str, dict[str, list[str]]]:
    """Section -> setting -> its values: a setting may be given more than once."""
    settings: dict[str, dict[str, list[str]]] = {}
    section: dict[str, list[str]] = {}
    for line in UNIT.read_text().replace("\\\n", " ").splitlines():
        if header := re.fullmatch(r"\[(\w+)\]", line):
            section = settings.setdefault(header[1], {})
        elif line and not line.startswith("#"):
            name, _, value = line.partition("=")
            section.setdefault(name, []).append(value.strip())
    return settings


def relay_commands() -> Iterator[tuple[str, list[str]]]:
    """Where a command of cdc-relay stands, and its words after the name."""
    yield "Dockerfile", yaml.safe_load(instruction("CMD"))
    for name, service in compose()["services"].items():
        if service["image"] == "cdc-relay":
            yield f"compose: {name}", command_of(service)
    for each in manifests():
        for container in each.get("spec", {}).get("template", {}).get("spec", {}).get("containers", []):
            yield f"kubernetes: {each['metadata']['name']}", container["args"]
    yield "systemd", shlex.split(unit()["Service"]["ExecStart"][0])[1:]
