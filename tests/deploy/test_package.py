"""The package as pip builds it: what is in it, and that it works with and without a C compiler."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from packaging.utils import parse_wheel_filename

from cdc_relay import __version__
from tests.deploy.files import ROOT
from tests.deploy.tools import absent, require

UNSENT = shutil.ignore_patterns(".*", "build", "*.so", "__pycache__", "*.egg-info")
NATIVE = ROOT / "cdc_relay" / "native"
MODULES = sorted(path.stem for path in NATIVE.glob("*.pyx"))
SOURCES = sorted(str(path.relative_to(ROOT)) for suffix in ("pyx", "pxd") for path in NATIVE.glob(f"*.{suffix}"))


def build(kind: str, source: Path, goal: Path, env: Mapping[str, str] = {}) -> Path:
    """By the hook that pip calls, with the back end of the tests' own environment."""
    code = f"from setuptools import build_meta; print(build_meta.build_{kind}({str(goal)!r}))"
    answer = subprocess.run(
        [sys.executable, "-c", code], cwd=source, env={**os.environ, **env}, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return goal / answer.stdout.splitlines()[-1]


def run_version(folder: Path) -> str:
    command = [sys.executable, "-c", "from cdc_relay.cli import main; main()", "--version"]
    env = {**os.environ, "PYTHONPATH": str(folder), "CDC_RELAY_NATIVE": "1"}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    clone = tmp_path_factory.mktemp("clone") / "cdc-relay"
    shutil.copytree(ROOT, clone, ignore=UNSENT)
    return build("sdist", clone, clone.parent)


@pytest.fixture(scope="module")
def source(sdist: Path) -> Path:
    with tarfile.open(sdist) as archive:
        archive.extractall(sdist.parent, filter="data")
    return sdist.parent / sdist.name.removesuffix(".tar.gz")


@pytest.fixture(scope="module")
def plain_wheel(source: Path) -> Path:
    return build("wheel", source, source.parent / "plain", {"CC": "false"})


@pytest.fixture(scope="module")
def wheel(plain_wheel: Path, source: Path) -> Path:
    """After the plain one, whose folder has nothing compiled yet."""
    require("gcc", "gcc")
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        absent("no headers of this Python (Debian: apt-get install python3-dev)")
    return build("wheel", source, source.parent)


def test_the_source_archive_has_what_a_build_needs_and_no_tests(source: Path) -> None:
    needed = [str(path.relative_to(ROOT)) for suffix in ("pyx", "pxd", "pyi", "sql") for path in files_of(suffix)]
    assert len(needed) > 10
    assert [path for path in (*needed, "setup.py", "README.md") if not (source / path).exists()] == []
    assert not (source / "tests").exists()
    assert list(source.rglob("*.so")) + list(source.rglob("*.c")) == []


def files_of(suffix: str) -> list[Path]:
    return sorted((ROOT / "cdc_relay").rglob(f"*.{suffix}"))


def test_the_wheel_has_every_compiled_module_and_what_is_no_python(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert sorted(re.findall(r"^cdc_relay/native/(\w+)\.[\w-]+\.so$", "\n".join(names), re.MULTILINE)) == MODULES
    data = {str(path.relative_to(ROOT)) for suffix in ("sql", "pyi") for path in files_of(suffix)}
    assert data | {"cdc_relay/py.typed"} <= set(names)


def test_the_wheel_has_nothing_but_the_package(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert tops == {"cdc_relay", f"cdc_relay-{__version__}.dist-info"}
    assert [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".c")] == []


def test_the_wheel_is_for_this_python_and_platform_alone(wheel: Path) -> None:
    [tag] = parse_wheel_filename(wheel.name)[3]
    version = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert (tag.interpreter, tag.abi) == (version, version)
    assert tag.platform != "any"


def test_the_wheel_works_compiled(wheel: Path) -> None:
    folder = wheel.with_name("compiled")
    zipfile.ZipFile(wheel).extractall(folder)
    assert run_version(folder) == f"cdc-relay, version {__version__} (compiled)\n"


def test_without_a_compiler_the_package_is_built_and_works_in_python(plain_wheel: Path) -> None:
    assert [name for name in zipfile.ZipFile(plain_wheel).namelist() if name.endswith(".so")] == []
    folder = plain_wheel.with_name("unpacked")
    zipfile.ZipFile(plain_wheel).extractall(folder)
    assert run_version(folder) == f"cdc-relay, version {__version__} (pure Python)\n"


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """As make leaves one that is up to date."""
    for name in ("bin/python", ".demo", ".test"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    return tmp_path


def would_install(venv: Path, *options: str) -> list[bool]:
    commands = [["make", "--dry-run", *options, f"VENV={venv}", f"{venv}/{stamp}"] for stamp in (".demo", ".test")]
    answers = [subprocess.run(each, cwd=ROOT, capture_output=True, text=True, check=True) for each in commands]
    return ["pip install" in answer.stdout for answer in answers]


def test_make_does_not_install_twice(venv: Path) -> None:
    assert would_install(venv) == [False, False]


@pytest.mark.parametrize("path", ["pyproject.toml", "setup.py", *SOURCES])
def test_make_installs_again_after_an_edit_of_what_is_compiled(venv: Path, path: str) -> None:
    assert would_install(venv, "--what-if", path) == [True, True]
