"""What was kept: the inputs that lead everywhere a fuzzer came, and every input that was ever a finding."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.fuzz.target import Target

__all__ = ["CORPUS", "FINDINGS", "keep", "kept", "read_folder", "starting_inputs", "write_folder"]

_HERE = Path(__file__).parent
CORPUS, FINDINGS = _HERE / "corpus", _HERE / "findings"


def read_folder(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """By name, so that a replay has an order."""
    for file in sorted(folder.iterdir()) if folder.is_dir() else ():
        if not file.name.startswith("."):
            yield file, file.read_bytes()


def kept(name: str) -> Iterator[tuple[Path, bytes]]:
    yield from read_folder(CORPUS / name)
    yield from read_folder(FINDINGS / name)


def starting_inputs(target: Target) -> set[bytes]:
    return {*target.seeds(), *(data for _, data in kept(target.name))}


def keep(folder: Path, data: bytes) -> Path:
    """Named by its content, as libFuzzer does."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / hashlib.sha1(data, usedforsecurity=False).hexdigest()[:16]
    file.write_bytes(data)
    return file


def write_folder(folder: Path, inputs: Iterable[bytes]) -> None:
    """These and no others."""
    written = {keep(folder, data) for data in inputs}
    for file, _ in list(read_folder(folder)):
        if file not in written:
            file.unlink()
