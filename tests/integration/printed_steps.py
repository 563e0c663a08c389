"""What a message tells its reader to do, done word by word: SQL by the owner of everything, commands with the file.

The owner's file differs from the relay's in the role of its DSN alone, as docs/privileges.md has it.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import yaml

from tests.fixtures.fix_relay import Pipeline, RelayProcess

__all__ = ["last_words", "printed_steps", "start_as_printed", "take_first_steps"]

RUN = "cdc-relay run -c FILE --accept-gap"


def last_words(relay: RelayProcess) -> str:
    assert relay.wait(60) == 3, relay.stderr
    assert "Traceback" not in relay.stderr
    return relay.stderr[relay.stderr.rindex("cdc-relay: ") :]


def printed_steps(said: str) -> list[str]:
    """Of the last finding: what it builds on is said first, and is in its steps too."""
    [remedy, *_] = said.rpartition("what to do: ")[2].splitlines()
    return remedy.split("; then ")


def start_as_printed(pipeline: Pipeline, said: str, directory: Path) -> RelayProcess:
    """Every step, of which the last is the start."""
    *first, last = printed_steps(said)
    assert last == RUN
    take_first_steps(pipeline, first, directory)
    return pipeline.start_relay("--accept-gap")


def take_first_steps(pipeline: Pipeline, steps: list[str], directory: Path) -> None:
    file = directory / "owner.yaml"
    file.write_text(yaml.safe_dump(pipeline.config(dsn=pipeline.database.dsn()), sort_keys=False))
    for step in steps:
        if step.startswith("cdc-relay "):
            _run_command(step, file)
        else:
            pipeline.database.execute(step)


def _run_command(step: str, file: Path) -> None:
    words = [word.replace("FILE", str(file)) for word in shlex.split(step)[1:]]
    if words[0] == "replay":
        words.append("--yes")  # nobody is there to ask
    answer = subprocess.run([sys.executable, "-m", "cdc_relay", *words], capture_output=True, text=True, timeout=120)
    assert answer.returncode == 0, answer.stderr
