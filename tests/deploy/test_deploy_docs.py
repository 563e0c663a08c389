"""docs/deploy.md says what the files say: paths, ports, commands."""

from __future__ import annotations

import re
import shlex
import shutil
import stat
import subprocess
from pathlib import Path

import click
import pytest
import yaml

from cdc_relay import __version__
from cdc_relay.cli import cli
from tests.deploy.files import COMPOSE, KUBERNETES, ROOT, compose

DOCUMENT = (ROOT / "docs" / "deploy.md").read_text()
LINES = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
    for line in block.replace("\\\n", " ").splitlines()
]


def test_every_path_of_the_repository_exists() -> None:
    paths = set(re.findall(r"\bdeploy/[\w./-]*\w", DOCUMENT)) - {"deploy/cdc-relay"}  # that one is kubectl's word
    assert len(paths) > 10
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


def test_the_ports_and_their_variables_are_those_of_the_compose_file() -> None:
    told = re.findall(r"^\| `localhost:(\d+)` \|.*\| `(\w+)` \|$", DOCUMENT, re.MULTILINE)
    published = re.findall(r'"127\.0\.0\.1:\$\{(\w+):-(\d+)\}:\d+"', COMPOSE.read_text())
    assert sorted(told) == sorted((port, variable) for variable, port in published)


def test_the_services_that_are_named_are_there() -> None:
    named = {line.split()[-1] for line in LINES if line.startswith("docker compose logs")}
    named |= set(re.findall(r"docker compose exec (\w+)", "\n".join(LINES)))
    assert named and named <= set(compose()["services"])


def test_every_command_of_the_relay_is_one() -> None:
    words = [shlex.split(line) for line in LINES if re.search(r"cdc-relay (run|status|setup|check)\b", line)]
    assert len(words) == 3
    for each in words:
        place = len(each) - 1 - each[::-1].index("cdc-relay")
        assert each[place + 1] in cli.list_commands(click.Context(cli))


def test_the_rules_become_an_object_of_the_operator() -> None:
    [line] = [line for line in LINES if "PrometheusRule" in line]
    made = subprocess.run(
        ["sh", "-c", line.replace("kubectl apply -f -", "cat")], capture_output=True, text=True, check=True, cwd=ROOT
    )
    rules = yaml.safe_load((ROOT / "deploy" / "prometheus" / "rules.yml").read_text())
    assert yaml.safe_load(made.stdout)["spec"] == rules


def test_the_image_is_built_with_every_tag_that_is_asked_for() -> None:
    [line] = [line for line in LINES if line.startswith("docker build")]
    built = set(re.findall(r"(?:-t|--tag) (\S+)", line))
    files = [yaml.safe_load(path.read_text()) for path in KUBERNETES.rglob("kustomization.yaml")]
    asked = {f"{image['name']}:{image['newTag']}" for file in files for image in file.get("images", [])}
    assert asked == {f"cdc-relay:{__version__}"}
    assert built == {"cdc-relay", *asked}


def test_after_a_clone_that_nobody_else_may_read_containers_can_read_their_mounts(tmp_path: Path) -> None:
    for folder in ("deploy", "sql"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    subprocess.run(["chmod", "-R", "go=", tmp_path], check=True)
    [line] = [line for line in LINES if line.startswith("chmod")]
    subprocess.run(line, shell=True, check=True, cwd=tmp_path)
    assert [path for path in mounted() if not (tmp_path / path).stat().st_mode & stat.S_IROTH] == []


def mounted() -> list[str]:
    """Files and folders of the repository, secrets too: each is mounted as it is."""
    mounts = [mount.split(":")[0] for service in compose()["services"].values() for mount in service.get("volumes", [])]
    return [path for path in mounts if path.startswith("./")] + [each["file"] for each in compose()["secrets"].values()]


@pytest.mark.parametrize("target", ["lock"])
def test_make_has_the_target(target: str) -> None:
    assert f"`make {target}`" in DOCUMENT
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
