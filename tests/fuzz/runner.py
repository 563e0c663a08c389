"""One target fuzzed for a while in a process of its own; what it found is kept. Judges nothing, prints nothing.

Its working corpus is in .cache/fuzz and grows from run to run; the few files that reach all of it are committed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tests.fuzz.corpus import CORPUS, FINDINGS, keep, read_folder, starting_inputs, write_folder
from tests.fuzz.tally import Tally, read_tally
from tests.fuzz.target import Target, load
from tests.fuzz.trim import trim

__all__ = ["Budget", "Outcome", "fuzz"]

ROOT = Path(__file__).parents[2]
WORK = ROOT / ".cache" / "fuzz"
_LONGEST_INPUT = {"config": 4096, "dlq_document": 2048, "dlq_lines": 4096}
_LIMITS = ("-timeout=30", "-rss_limit_mb=2048", "-print_final_stats=1", "-verbosity=1", "-reload=0")


@dataclass(frozen=True, slots=True)
class Budget:
    seconds: int | None = None
    runs: int | None = None
    seed: int = 0  # 0: libFuzzer takes one

    def options(self) -> Iterator[str]:
        if self.seconds is not None:
            yield f"-max_total_time={self.seconds}"
        if self.runs is not None:
            yield f"-runs={self.runs}"
        yield f"-seed={self.seed}"


@dataclass(frozen=True, slots=True)
class Outcome:
    tally: Tally
    findings: list[Path]
    output: str  # all that libFuzzer and the failed check said


def fuzz(name: str, budget: Budget) -> Outcome:
    target = load(name)
    work = WORK / name
    for data in starting_inputs(target):
        keep(work, data)
    with tempfile.TemporaryDirectory(prefix="cdc-relay-fuzz-") as scratch:
        started = time.monotonic()
        output = _run(target, budget, work=work, scratch=Path(scratch))
        tally = read_tally(name, output, seconds=time.monotonic() - started)
        findings = [keep(FINDINGS / name, data) for _, data in read_folder(Path(scratch) / "found")]
    files = 0 if findings else _keep_corpus(target, work)
    return Outcome(replace(tally, findings=len(findings), kept_files=files), findings, output)


def _run(target: Target, budget: Budget, *, work: Path, scratch: Path) -> str:
    found, tokens = scratch / "found", scratch / "tokens"
    found.mkdir()
    tokens.write_text("".join(f"{_spell(token)}\n" for token in target.tokens))
    options = [f"-artifact_prefix={found}/", f"-dict={tokens}", f"-max_len={_LONGEST_INPUT.get(target.name, 1024)}"]
    command = [
        sys.executable,
        "-m",
        "tests.fuzz.harness",
        target.name,
        *budget.options(),
        *options,
        *_LIMITS,
        str(work),
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)
    return (done.stdout + done.stderr).decode("utf-8", "replace")


def _spell(token: bytes) -> str:
    """As libFuzzer reads a dictionary."""
    return '"' + "".join(f"\\x{byte:02X}" for byte in token) + '"'


def _keep_corpus(target: Target, work: Path) -> int:
    """A target with a finding keeps its corpus as it was: the check would stop at it."""
    inputs = [data for _, data in read_folder(work)]
    chosen = trim(target, inputs)
    write_folder(CORPUS / target.name, chosen)
    return len(chosen)
