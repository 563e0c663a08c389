"""The Dockerfile as it is written: what goes to the builder, who runs the result, and as which version."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

from cdc_relay import __version__
from tests.deploy.files import KUBERNETES, PORT, ROOT, dockerfile, instruction

HADOLINT = Path(sys.executable).with_name("hadolint")


def copied_from_here() -> list[str]:
    copies = [step.value.split() for step in dockerfile() if step.name == "COPY" and "--from=" not in step.value]
    return [source for words in copies for source in words[:-1]]


def is_sent(path: str) -> bool:
    """By .dockerignore: the last line that matches the path, or a folder that it is in, decides."""
    sent = True
    places = [path, *map(str, Path(path).parents)]
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        pattern = line.removeprefix("!").replace("**/", "*")
        if line and not line.startswith("#") and any(fnmatch(place, pattern) for place in places if place != "."):
            sent = line.startswith("!")
    return sent


@pytest.mark.skipif(not HADOLINT.exists(), reason="there is no hadolint for this platform")
def test_the_linter_has_nothing_to_say() -> None:
    answer = subprocess.run([HADOLINT, ROOT / "Dockerfile"], capture_output=True, text=True, check=False, timeout=60)
    assert (answer.returncode, answer.stdout) == (0, "")


@pytest.mark.parametrize("source", copied_from_here())
def test_what_is_copied_exists_and_is_sent_to_the_builder(source: str) -> None:
    assert (ROOT / source).exists()
    assert is_sent(source)


@pytest.mark.parametrize(
    "path", [".git/config", ".venv/bin/python", "deploy/compose/secrets/relay-password", "tests/run"]
)
def test_nothing_else_is_sent_to_the_builder(path: str) -> None:
    assert not is_sent(path)


def test_the_last_user_is_a_number_and_not_root() -> None:
    """A number: Kubernetes cannot tell whether a name is root."""
    user, _, group = instruction("USER").partition(":")
    assert int(user) > 0 and int(group) > 0


def test_the_relay_gets_the_signals_itself() -> None:
    """The exec form has no shell in between."""
    assert json.loads(instruction("ENTRYPOINT")) == ["cdc-relay"]
    assert instruction("STOPSIGNAL") == "SIGTERM"


def test_the_port_is_that_of_the_default() -> None:
    assert instruction("EXPOSE") == str(PORT)


def test_the_python_is_one_that_we_support() -> None:
    version = dockerfile()[0].value
    assert tuple(map(int, version.removeprefix("PYTHON_VERSION=").split("."))) >= (3, 11)


def test_every_version_that_is_written_is_the_packages() -> None:
    tags = [yaml.safe_load(path.read_text()).get("images") for path in KUBERNETES.rglob("kustomization.yaml")]
    assert [image["newTag"] for images in tags if images for image in images] == [__version__] * 2
    assert re.findall(r"^ARG VERSION=(.*)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE) == [__version__]
