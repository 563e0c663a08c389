"""What `run` imports before it streams: start-up time and memory are mostly imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# As `run` does it with a file whose sink is Kafka.
START = """
import gc, sys
from cdc_relay.__main__ import start
assert gc.isenabled()
import cdc_relay.cli.run, cdc_relay.wiring, cdc_relay.sinks.kafka
print(*sys.modules)
"""


@pytest.fixture(scope="module")
def imported() -> set[str]:
    command = [sys.executable, "-c", START]
    answer = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=60)
    return set(answer.stdout.split())


@pytest.mark.parametrize(
    "package",
    [
        "rich",  # of status --watch and the demo; structlog would take it too
        "pygments",
        "attr",  # rich's
        "prometheus_client",  # when /metrics is visited
        "urllib.request",
        "cdc_relay.demo",
        "cdc_relay.admin.setup",
        "cdc_relay.admin.status",
        "cdc_relay.admin.check.check",  # a second after the first record
        "cdc_relay.admin.check.certificates",
        "cdc_relay.admin.retention.proof",  # with the first pass
        "cdc_relay.admin.retention.table_sweep",
        "cdc_relay.backfill",
        "cdc_relay.republish",
        "cdc_relay.replay.engine",
        "cdc_relay.parking.desk",
        "cdc_relay.outbox",
        "cdc_relay.sinks.log",
        "cdc_relay.sinks.none",
    ],
)
def test_a_start_does_not_import(imported: set[str], package: str) -> None:
    assert [name for name in imported if name == package or name.startswith(f"{package}.")] == []


def test_of_the_commands_only_run_is_imported(imported: set[str]) -> None:
    shared = {"cdc_relay.cli.options"}
    assert {name for name in imported if name.startswith("cdc_relay.cli.")} - shared == {"cdc_relay.cli.run"}


def test_structlog_can_be_had_without_rich_and_rich_after_it() -> None:
    code = "import cdc_relay.logs, sys; assert 'rich' not in sys.modules; import rich.console; print(rich.__name__)"
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    assert answer.stdout == "rich\n"


@pytest.mark.parametrize(("command", "collects"), [("run", False), ("config", True)])
def test_garbage_is_collected_as_soon_as_a_command_has_imported_what_it_needs(command: str, collects: bool) -> None:
    """`run` goes on importing, and collects when the relay begins."""
    code = f"""
import atexit, gc, sys
from cdc_relay.__main__ import start
atexit.register(lambda: print(gc.isenabled()))
sys.argv = ["cdc-relay", "{command}", "--help"]
start()
"""
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    assert answer.stdout.splitlines()[-1] == str(collects)
