"""What the smaller benchmarks share: a drain's figures, and records from memory to warm the broker with."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

from tests.bench.ground import TOPIC, Ground

__all__ = ["STALL_SECONDS", "Drain", "produce_from_memory"]

STALL_SECONDS = 120


@dataclass(frozen=True)
class Drain:
    per_second: float
    cpu_us_per_event: float


def produce_from_memory(ground: Ground, row_count: int) -> Drain:
    """The same records from memory, with the relay's own producer settings: what is left without reading."""
    arguments = [ground.kafka.bootstrap, TOPIC, str(row_count), "270", "none"]
    command = [sys.executable, "-m", "tests.bench.produce", *arguments]
    output = subprocess.run(command, check=True, timeout=STALL_SECONDS, capture_output=True, text=True).stdout
    seconds, cpu_seconds = map(float, output.split())
    return Drain(row_count / seconds, cpu_seconds / row_count * 1e6)
