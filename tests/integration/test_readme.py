"""Every command of the README is known to a test that executes it: help and make here, the rest in test_readme_walk.py.

A command that no test knows is a failure, so that whoever adds one has to execute it."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from cdc_relay.native import is_native
from tests.fixtures.process import spawn
from tests.integration.readme_text import README, ROOT, WALK, blocks, commands

DLQ = ("list", "show", "retry", "edit", "discard", "cancel", "stats", "export", "import")
TOPICS = ("topics", "topics plan", "topics apply")
HELP = ("", "run", "setup", "config", "config show", "config schema", "demo", "dlq", *(f"dlq {name}" for name in DLQ))
HELP += (*TOPICS, "route", "check", "status", "replay", "retention", "teardown")


# --- what the README says


def mentioned() -> set[str]:
    """Commands in the running text and in tables."""
    starts = r"make|cdc-relay|pip|tests/run|python|\.venv/bin/\S+|PYTHON=\S+"
    return set(re.findall(rf"`((?:{starts})(?: [^`]*)?)`", README))


def test_every_block_has_a_language_that_is_executed_or_is_text() -> None:
    assert {block.language for block in blocks()} == {"sh", "sql", "yaml", "text"}


def test_every_block_of_sql_and_yaml_is_part_of_the_walk() -> None:
    assert [block for block in blocks() if block.language in ("sql", "yaml") and block.section not in WALK] == []


def test_every_command_is_known_to_the_tests_here() -> None:
    known = {"make demo", "make test", *commands(*WALK), *commands("Development")}
    assert set(commands()) - known == set()
    assert all(re.match(r"(\w+=\S+ )*(pip|cdc-relay|curl) ", line) for line in commands(*WALK))
    assert all(line.startswith(".venv/bin/python -m pytest ") for line in commands("Development"))


def test_every_command_mentioned_in_passing_is_known_to_the_tests_here() -> None:
    executed = {"make install", "make demo", "make test", "make lint", "make bench", "make clean", "tests/run"}
    executed |= {"PYTHON=python3.12 make install"}  # as `make install`, whose Python the tests choose the same way
    by_hand = {"make compare-debezium", "make bench-peers"}  # minutes of Maven and Kafka Connect
    by_hand |= {"make bench-growth", "make bench-flame"}  # half an hour; a profiler
    by_hand |= {"make chaos", "make soak"}  # hours; tests/chaos/test_walk.py takes some of their steps
    by_hand |= {"make fuzz", "make mutate", "make coverage"}  # as long as wanted; half an hour; the whole suite
    rest = mentioned() - executed - by_hand - {"cdc-relay"}
    assert [line for line in rest if not is_synopsis(line)] == []


def is_synopsis(line: str) -> bool:
    """`cdc-relay run -c FILE [--no-wait]`: its --help is executed, and has every option."""
    words = line.split()
    if words[0] != "cdc-relay":
        return False
    command = [word for word in words[1:] if re.fullmatch(r"[a-z]+", word)]
    options = re.findall(r"-{1,2}[a-z][a-z-]*", line.removeprefix("cdc-relay"))
    return " ".join(command) in HELP and all(option in run_help(" ".join(command)) for option in options)


@pytest.mark.parametrize("command", HELP)
def test_help_of_every_command_is_printed(command: str) -> None:
    assert f"Usage: cdc-relay {command}".rstrip() in run_help(command)


@cache
def run_help(command: str) -> str:
    line = [sys.executable, "-m", "cdc_relay", *command.split(), "--help"]
    answer = subprocess.run(line, capture_output=True, text=True, check=True, timeout=60)
    return answer.stdout.replace("python -m cdc_relay", "cdc-relay")


# --- make


def test_make_test_is_what_ci_runs() -> None:
    """`make test` cannot run inside itself. CI executes it: .ci/run is the README's command and nothing else."""
    assert "make test" in commands("The two commands")
    script = [line for line in (ROOT / ".ci" / "run").read_text().splitlines() if line and not line.startswith("#")]
    assert script[-1] == "exec make test"
    assert all(line.startswith(("set ", "cd ")) for line in script[:-1])


def test_make_test_calls_tests_run_and_make_lint_is_a_part_of_it() -> None:
    recipes = (ROOT / "Makefile").read_text()
    steps = (ROOT / "tests" / "run").read_text().replace('"', "")
    assert "\ntest: $(VENV)/.test\n\t@tests/run\n" in recipes
    [lint] = re.findall(r"^lint:.*\n\t(.*)$", recipes, re.MULTILINE)
    for command in lint.split(" && "):
        assert f" {command.replace('$(BIN)', '$BIN')}\n" in steps


@pytest.mark.real_kafka
def test_make_bench_measures(tmp_path: Path) -> None:
    """The program of `make bench`, with less to do."""
    assert "$(BIN)/python -m tests.bench $(BENCH)\n" in (ROOT / "Makefile").read_text()
    options = ["--rows", "20000", "--rounds", "1", "--seconds", "1", "--warm-events", "0"]
    options += [] if is_native else ["--pure"]
    bench = spawn([sys.executable, "-m", "tests.bench", *options], log=tmp_path / "output", cwd=ROOT)
    assert bench.wait(240) == 0, (tmp_path / "output").read_text()
    assert re.search(r"^\| relay \| [1-9]", (tmp_path / "output").read_text(), re.MULTILINE)


@pytest.mark.parametrize("line", commands("Development"))
def test_the_tests_run_as_the_readme_says(line: str, tmp_path: Path) -> None:
    words = [sys.executable if word == ".venv/bin/python" else word for word in shlex.split(line)]
    run = spawn(words, log=tmp_path / "output", cwd=ROOT)
    assert run.wait(240) == 0, (tmp_path / "output").read_text()
    assert " passed" in (tmp_path / "output").read_text()
