"""The demo's temporary directory: everything the demo writes is in it, and it goes away with the demo."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cdc_relay.demo.janitor import Janitor
from cdc_relay.errors import RelayError

__all__ = ["workspace"]


@contextmanager
def workspace() -> Iterator[tuple[Path, Janitor]]:
    directory = _make_directory()
    try:
        directory.chmod(0o711)  # as root, Postgres runs as another user and must reach its data in here
        with Janitor(directory) as janitor:
            try:
                yield directory, janitor
            finally:
                shutil.rmtree(directory, ignore_errors=True)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _make_directory() -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix="cdc-relay-demo-"))
    except OSError as exc:
        raise RelayError(f"the demo needs a temporary directory: {exc}", remedy="make room, or set TMPDIR") from exc
