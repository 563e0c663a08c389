"""The mutants of `make mutate` are what they should be, and those that are known to live are still among them."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutation.child import Trial, Verdict
from tests.mutation.mutant import mutants_of
from tests.mutation.places import MODULES
from tests.mutation.report import ModuleResult, explained, figures, share, survivors, unexplained
from tests.mutation.survivors import SURVIVORS

ROOT = Path(__file__).parents[2]
UNIT = Path(__file__).parent
PACKAGES = ("delivery", "protocol")


def path_of(module: str) -> Path:
    return ROOT / f"{module.replace('.', '/')}.py"


def changes_in(tmp_path: Path, source: str) -> list[str]:
    path = tmp_path / "code.py"
    path.write_text(source)
    return [mutant.name.removeprefix("module: ") for mutant in mutants_of(path)]


# --- what is mutated


def test_every_module_that_decides_something_is_mutated() -> None:
    paths = [path for package in PACKAGES for path in sorted((ROOT / "cdc_relay" / package).glob("*.py"))]
    deciding = {f"cdc_relay.{path.parent.name}.{path.stem}" for path in paths if mutants_of(path)}
    assert deciding == MODULES.keys()


def test_every_test_that_is_to_notice_exists() -> None:
    assert {test for tests in MODULES.values() for test in tests if not (UNIT / test).exists()} == set()


@pytest.mark.parametrize("module", MODULES)
def test_every_mutant_has_a_name_of_its_own_and_can_be_compiled(module: str) -> None:
    mutants = mutants_of(path_of(module))
    assert len({mutant.name for mutant in mutants}) == len(mutants)
    written = ast.dump(mutants[0].tree)
    for mutant in mutants:
        mutant.compile("code.py")
    assert ast.dump(mutants[0].tree) == written


@pytest.mark.parametrize("module", SURVIVORS)
def test_whoever_is_known_to_live_is_still_there_and_has_a_reason(module: str) -> None:
    """Or the reason speaks of code that is gone."""
    names = {mutant.name for mutant in mutants_of(path_of(module))}
    assert [name for name in SURVIVORS[module] if name not in names] == []
    assert all(SURVIVORS[module].values())


def test_the_survivors_in_docs_are_the_known_ones() -> None:
    known = [(module, name) for module, names in SURVIVORS.items() for name in names]
    assert explained(known) in (ROOT / "docs" / "mutation.md").read_text()


# --- how it is changed


@pytest.mark.parametrize(
    ("source", "changes"),
    [
        ("a < b", ["a < b -> a <= b", "a < b -> a >= b"]),
        ("a == b", ["a == b -> a != b"]),
        ("a in b", ["a in b -> a not in b"]),
        ("a and b", ["a and b -> a or b", "a and b -> b", "a and b -> a"]),
        ("not a", ["not a -> a"]),
        ("a + b", ["a + b -> a - b"]),
        ("a << b", ["a << b -> a >> b"]),
        ("x = 5", ["5 -> 6", "5 -> 4"]),
        ("x = True", ["True -> False"]),
        ("x = 'a'", ["'a' -> 'XXaXX'"]),
        ("x = b'a'", ["b'a' -> b'XXa'"]),
        ("x = f'a{b}'", ["'a' -> 'XXaXX'"]),
        ("a[b:c]", ["[b:c] -> [:c]", "[b:c] -> [b:]"]),
        ("x = min(a)", ["min(a) -> max(a)"]),
        ("x = f(a, b)", ["f(a, b) -> f(b, a)"]),
        ("x = a if b else c", ["a if b else c -> a if not b else c"]),
        ("x = [a for a in b if c]", ["if c -> if not c"]),
        ("f()", ["f() -> pass"]),
        ("a.b = c", ["a.b = c -> pass"]),
        ("a += b", ["a += b -> a -= b", "a += b -> pass"]),
        ("raise a", ["raise a -> pass"]),
        ("del a", ["del a -> pass"]),
        ("if a: b", ["if a -> if not a"]),
        ("for a in b: c", ["for a in b -> for a in ()"]),
        ("for a in b: break", ["for a in b -> for a in ()", "break -> continue"]),
        ("try: a\nexcept B: c", ["except B -> except GeneratorExit"]),
        ("def f(a=1): return a", ["f: 1 -> 2", "f: 1 -> 0", "f: return a -> return None"]),
    ],
)
def test_a_change_is_one_slip(source: str, changes: list[str], tmp_path: Path) -> None:
    assert changes_in(tmp_path, source) == changes


@pytest.mark.parametrize(
    "source",
    [
        '"""A docstring."""',
        "from a import b",
        "__all__ = ['a']",
        "Alias = tuple[int, ...]",
        "Alias = bytes | None",
        "x: 'int'",
        "class A:\n    __slots__ = ('a',)",
        "x = cast('int', a)",
    ],
)
def test_what_nobody_runs_is_left_alone(source: str, tmp_path: Path) -> None:
    assert changes_in(tmp_path, source) == []


def test_the_same_change_in_two_places_has_two_names(tmp_path: Path) -> None:
    assert changes_in(tmp_path, "f()\nf()") == ["f() -> pass", "f() -> pass #2"]


# --- what came of it


def make_result(*verdicts: Verdict) -> ModuleResult:
    return ModuleResult("a.b", {f"{number}: x": Trial(verdict, 1.0) for number, verdict in enumerate(verdicts)})


def test_a_mutant_that_cannot_be_run_counts_for_nothing() -> None:
    result = make_result(Verdict.KILLED, Verdict.SLOW, Verdict.SLOW, Verdict.SURVIVED, Verdict.UNFIT)
    assert share(result.counts) == 0.75
    assert figures([result]).splitlines()[-1] == "| all | 5 | 1 | 2 | 1 | 1 | 75.0% |"


def test_a_survivor_without_a_reason_is_told() -> None:
    result = make_result(Verdict.SURVIVED, Verdict.KILLED)
    assert unexplained([result]) == ["a.b: 0: x"]
    assert survivors([result]).splitlines()[2:] == ["| `a.b` | `` 0: x `` | NOT EXPLAINED |"]


@pytest.mark.parametrize(
    ("change", "verdict", "code"),
    [("release: self.record_count -= 1 -> pass", "killed", 0), ("no such change", "all | 0 | 0", 0)],
)
def test_a_mutant_is_planted_in_a_process_of_its_own_and_noticed(change: str, verdict: str, code: int) -> None:
    command = [sys.executable, "-m", "tests.mutation", "--only", "delivery.window", "--change", change]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (code, "")
    assert verdict in done.stdout
