"""The Dockerfile followed without a container engine: COPY and RUN in folders, ENTRYPOINT as the user that it names.

A stage's root is a folder. Each stage begins with a Python of its own and loses what it does not copy from another.
apt-get is only written down; the machine's own compiler works in a stage that asked for one, and in no other.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.deploy.files import ROOT, dockerfile
from tests.fixtures.process import tail

__all__ = ["Image", "find_python", "runs_as"]

APT_GET = """#!/bin/sh
echo "$@" >>"$APT_LOG"
"""
ABSOLUTE = re.compile(r"(?:(?<=[\s=:])|^)/(?!dev/)(?=\w)")
BUILD_SECONDS = 300
PROBE = """
import os, sys, sysconfig, venv
sys.exit(sys.version_info < (3, 11) or not os.path.exists(sysconfig.get_path("include") + "/Python.h"))
"""


class Image:
    def __init__(self, directory: Path, python: Path) -> None:
        self.root = directory / "root"
        self.log = directory / "build.log"
        self.settings: dict[str, str] = {}  # USER, ENTRYPOINT and their like, as the last stage has them
        self.variables: dict[str, str] = {}
        self._directory = directory
        self._python = python
        self._stages: dict[str, Path] = {}
        self._name = ""
        self._folder = Path("/")

    def build(self) -> None:
        for step in dockerfile():
            match step.name:
                case "FROM":
                    self._begin(step.value)
                case "COPY":
                    self._copy(shlex.split(step.value))
                case "RUN":
                    self._execute(step.value)
                case "WORKDIR":
                    self._folder = Path(step.value)
                    self._place(step.value).mkdir(parents=True)
                case "ENV":
                    self.variables |= dict(word.split("=", 1) for word in shlex.split(step.value))
                case _:
                    self.settings[step.name] = step.value
        shutil.rmtree(self._directory / "stages")
        make_read_only(self.root)

    @property
    def user(self) -> int:
        return int(self.settings["USER"].partition(":")[0])

    @property
    def entrypoint(self) -> list[str]:
        words: list[str] = json.loads(self.settings["ENTRYPOINT"])
        return words

    def packages(self, stage: str) -> set[str]:
        """Of Debian, as this stage has asked for them."""
        log = self._directory / f"apt-{stage}"
        asked = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
        return {word for words in asked if "install" in words for word in words[1:] if not word.startswith("-")}

    def environment(self, mounts: Path | None = None) -> dict[str, str]:
        """The image's own variables and nothing of ours; paths lead to what is mounted where something is."""
        path = f"{self._base / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin"
        own = {name: at(mounts or self.root, value) for name, value in self.variables.items() if name != "PATH"}
        return {**own, "PATH": at(self.root, self.variables.get("PATH", "$PATH")).replace("$PATH", path)}

    def run(
        self, arguments: Sequence[str], *, mounts: Path | None = None, env: Mapping[str, str] = {}
    ) -> subprocess.CompletedProcess[str]:
        """The entry point, in a container of its own as far as it can be had here."""
        return subprocess.run(
            [*self.entrypoint, *arguments],
            env={**self.environment(mounts), **env},
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            **runs_as(self.user),
        )

    def _begin(self, value: str) -> None:
        if self.root.exists():
            self._stages[self._name] = self.root.rename(self._directory / "stages" / self._name)
        (self._directory / "stages").mkdir(exist_ok=True)
        self.root.mkdir()
        self._name = value.partition(" AS ")[2] or str(len(self._stages))
        self._base = self._directory / f"python-{self._name}"
        self.settings, self.variables, self._folder = {}, {}, Path("/")
        subprocess.run([self._python, "-m", "venv", "--without-pip", self._base], check=True, timeout=60)
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(self._base / "bin/python")]
        subprocess.run([*pip, "install", "--quiet", "pip"], check=True, timeout=120)

    def _copy(self, words: list[str]) -> None:
        options = [word for word in words if word.startswith("--")]
        *sources, target = [word for word in words if word not in options]
        start = ROOT
        for option in options:
            start = self._stages[option.removeprefix("--from=")]
        for source in sources:
            goal = self._place(target)
            if target.endswith("/"):
                goal = goal / Path(source).name
            copy(start / source.lstrip("/"), goal, unsent=("__pycache__", "*.so") if start == ROOT else ())

    def _execute(self, command: str) -> None:
        with self.log.open("ab") as log:
            answer = subprocess.run(
                ["sh", "-c", at(self.root, command)],
                env=self._build_environment(),
                cwd=self._place("."),
                stdout=log,
                stderr=log,
                check=False,
                timeout=BUILD_SECONDS,
            )
        assert answer.returncode == 0, f"RUN {command}\n{tail(self.log)}"

    def _build_environment(self) -> dict[str, str]:
        own = self.environment()
        compiler = {} if "gcc" in self.packages(self._name) else {"CC": "false"}
        path = f"{self._make_stand_in()}{os.pathsep}{own['PATH']}"
        apt_log = str(self._directory / f"apt-{self._name}")
        machine = {name: value for name, value in os.environ.items() if name != "CDC_RELAY_NATIVE"}  # its package index
        return {**machine, **own, **compiler, "PATH": path, "APT_LOG": apt_log}

    def _make_stand_in(self) -> Path:
        program = self._directory / "stand-ins" / "apt-get"
        if not program.exists():
            program.parent.mkdir()
            program.write_text(APT_GET)
            program.chmod(0o755)
        return program.parent

    def _place(self, path: str) -> Path:
        return self.root / str(self._folder / path).lstrip("/")


def at(root: Path, text: str) -> str:
    """The text with every absolute path below that root."""
    return ABSOLUTE.sub(f"{root}/", text)


def copy(source: Path, goal: Path, *, unsent: Sequence[str] = ()) -> None:
    goal.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, goal, symlinks=True, ignore=shutil.ignore_patterns(*unsent))
    else:
        shutil.copy(source, goal)


def make_read_only(root: Path) -> None:
    for path in [root, *root.rglob("*")]:
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & ~0o222 | 0o444)


def find_python(user: int) -> Path | str:
    """A Python for the image that this user may run and C may include, or why there is none: a home is closed."""
    for candidate in _candidates():
        if _is_usable(candidate, user):
            return candidate
    return f"no Python >= 3.11 on this machine that user {user} may run, with headers (Debian: python3-dev)"


def _candidates() -> Iterator[Path]:
    yield Path(getattr(sys, "_base_executable", sys.executable))
    yield from sorted(Path("/usr/bin").glob("python3*"))


def _is_usable(python: Path, user: int) -> bool:
    try:
        answer = subprocess.run(
            [str(python), "-c", PROBE], capture_output=True, check=False, timeout=30, cwd="/", **runs_as(user)
        )
    except OSError:
        return False
    return answer.returncode == 0


def runs_as(user: int) -> dict[str, Any]:
    """For subprocess: that user and no group of ours. Who is not root stays who he is."""
    return {} if os.geteuid() != 0 else {"user": user, "group": user, "extra_groups": []}
