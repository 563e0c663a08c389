"""The locks that the image is built from: they cover pyproject.toml, by hash. `make lock` makes them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.deploy.files import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
WANTED = {"requirements.lock": PROJECT["project"]["dependencies"], "build.lock": PROJECT["build-system"]["requires"]}
LOCKS = [ROOT / "deploy" / name for name in WANTED]


def entries(lock: Path) -> list[str]:
    """A pinned requirement with its hashes, each on one line."""
    text = lock.read_text().replace("\\\n", " ")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def pins(lock: Path) -> dict[str, str]:
    found = [Requirement(entry.partition(" --hash")[0].strip()) for entry in entries(lock)]
    return {canonicalize_name(each.name): str(each.specifier).removeprefix("==") for each in found}


def test_these_are_all_the_locks_there_are() -> None:
    assert sorted((ROOT / "deploy").rglob("*.lock")) == sorted(LOCKS)


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_dependency_is_pinned_to_a_version_that_we_allow(lock: Path) -> None:
    wanted = [Requirement(text) for text in WANTED[lock.name]]
    pinned = pins(lock)
    assert [
        str(each) for each in wanted if not each.specifier.contains(pinned.get(canonicalize_name(each.name), "0"))
    ] == []


def test_the_binary_of_psycopg_is_pinned_like_psycopg() -> None:
    """The extra of the requirement, which the check above does not see."""
    pinned = pins(ROOT / "deploy" / "requirements.lock")
    assert pinned["psycopg-binary"] == pinned["psycopg"]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_line_is_a_pin_with_hashes_and_no_address(lock: Path) -> None:
    line = re.compile(r"[\w.-]+==[\w.]+( ; [^#]*?)?( +--hash=sha256:[0-9a-f]{64})+ *")
    assert [entry for entry in entries(lock) if not line.fullmatch(entry)] == []
