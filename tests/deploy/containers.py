"""The services of docker-compose.yml outside of containers: their commands with their mounts, variables and secrets.

Only what differs from machine to machine is replaced: the addresses of the servers, and `/` by a folder per service.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from tests.deploy.files import ROOT, Manifest, command_of, compose
from tests.deploy.image import Image, at, runs_as

__all__ = ["Container", "kafka_properties", "postgres_settings"]


class Container:
    """One service. With an image it is the relay's; without, its program is one of this machine."""

    def __init__(self, name: str, directory: Path, *, addresses: Mapping[str, str], image: Image | None = None) -> None:
        self.root = directory / name
        self._service: Manifest = compose()["services"][name]
        self._addresses = addresses
        self.image = image
        for inside, outside in {**dict(self._mounts()), **dict(self._secrets())}.items():
            self._mount(outside, self.root / inside.lstrip("/"))

    @property
    def command(self) -> list[str]:
        return self._line(command_of(self._service))

    @property
    def user(self) -> int:
        return self.image.user if self.image else 65534

    def environment(self, **more: str) -> dict[str, str]:
        own = {name: self._here(str(value)) for name, value in self._service.get("environment", {}).items()}
        path = {"PATH": os.environ["PATH"]}
        return {**(self.image.environment(self.root) if self.image else path), **own, **more}

    def run(self, *words: str, **more: str) -> str:
        """Its command, or another one: what it said, once it has ended well."""
        answer = self._execute(self._line(list(words)) if words else self.command, more)
        assert answer.returncode == 0, answer.stdout + answer.stderr
        return answer.stdout

    def check_health(self, **more: str) -> int:
        """The exit code of its health check, which the engine runs beside the entry point."""
        how, *words = self._service["healthcheck"]["test"]
        assert how == "CMD"
        return self._execute([self._here(word) for word in words], more).returncode

    def _execute(self, words: list[str], more: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words,
            env=self.environment(**more),
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            **runs_as(self.user),
        )

    def _line(self, given: list[str]) -> list[str]:
        words = [at(self.root, word) for word in given]
        return [*self.image.entrypoint, *words] if self.image else words

    def _mounts(self) -> Iterator[tuple[str, Path]]:
        for entry in self._service.get("volumes", []):
            source, inside, *_ = entry.split(":")
            if source.startswith("."):  # else it is a volume of the engine's
                yield inside, ROOT / source

    def _secrets(self) -> Iterator[tuple[str, Path]]:
        for entry in self._service.get("secrets", []):
            given = {"source": entry, "target": entry} if isinstance(entry, str) else entry
            yield f"/run/secrets/{given['target']}", ROOT / compose()["secrets"][given["source"]]["file"]

    def _mount(self, source: Path, goal: Path) -> None:
        goal.parent.mkdir(parents=True, exist_ok=True)
        text = source.read_text().replace("/run/secrets/", f"{self.root}/run/secrets/")
        goal.write_text(self._here(text))
        shutil.copymode(source, goal)

    def _here(self, text: str) -> str:
        for theirs, ours in self._addresses.items():
            text = text.replace(theirs, ours)
        return text


def postgres_settings() -> dict[str, str]:
    """The -c NAME=VALUE of the server."""
    words = command_of(compose()["services"]["postgres"])
    return dict(word.split("=", 1) for before, word in pairwise(words) if before == "-c")


def kafka_properties() -> dict[str, str]:
    """As the image makes them of KAFKA_*: its names in lower case, with dots for underscores."""
    variables = compose()["services"]["kafka"]["environment"]
    named = {name: str(value) for name, value in variables.items() if name.startswith("KAFKA_")}
    return {name.removeprefix("KAFKA_").lower().replace("_", "."): value for name, value in named.items()}
