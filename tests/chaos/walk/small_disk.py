"""A disk of its own for the lot, small enough to fill: a tmpfs with a tablespace on it. Needs root and Linux."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from tests.fixtures.database import Database
from tests.fixtures.scratch import remove_scratch, scratch_dir

__all__ = ["SmallDisk", "can_mount"]

LOT = "cdc_relay.parked_records"
BLOCK_BYTES = 4096


def can_mount() -> bool:
    return sys.platform == "linux" and os.geteuid() == 0


class SmallDisk:
    def __init__(self, size: str = "256m") -> None:
        self._directory = scratch_dir("disk")
        self._filler = self._directory / "filler"
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", self._directory], check=True)

    def take_lot(self, database: Database, *, user: str | None) -> None:
        """From now on the lot's table is here. `user`: as whom the server runs, None for whoever runs this."""
        place = self._directory / "lot"
        place.mkdir()
        if user is not None:
            shutil.chown(place, user)
        name = f"{database.name}_small"
        database.execute(f"CREATE TABLESPACE {name} LOCATION '{place}'")
        database.execute(f"ALTER TABLE {LOT} SET TABLESPACE {name}")

    def fill(self) -> None:
        """To the last block."""
        with self._filler.open("ab", buffering=0) as file:
            for size in (256 * BLOCK_BYTES, BLOCK_BYTES):
                _write_until_full(file.fileno(), bytes(size))

    def free(self) -> None:
        self._filler.unlink(missing_ok=True)

    def destroy(self) -> None:
        """When the server that uses it is gone."""
        subprocess.run(["umount", "-l", self._directory], check=True)
        remove_scratch(self._directory)


def _write_until_full(descriptor: int, block: bytes) -> None:
    while True:
        try:
            os.write(descriptor, block)
        except OSError:
            return
