"""The faults of `python -m tests.breakage` stay armed: each still applies, its tests exist, no promise lacks one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.breakage.fault import Fault, FaultError
from tests.breakage.faults import FAULTS, PROMISES
from tests.breakage.verdict import Verdict, table
from tests.breakage.workshop import ROOT, Outcome, Workshop, collect

PASSED, FAILED, SKIPPED = Outcome("passed"), Outcome("failed", "assert 1 == 2"), Outcome("skipped")
NOT_RUN = Outcome("not run", "SyntaxError")


def make_fault(**changes: str) -> Fault:
    text = {"title": "a fault", "file": "code.py", "old": "one", "new": "two"} | changes
    return Fault(promise=1, tests=("tests/unit/test_x.py::test_y",), **text)


# --- the declared faults


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.title)
def test_a_fault_still_applies_and_the_broken_code_is_code(fault: Fault) -> None:
    broken = fault.broken(ROOT)
    assert broken != (ROOT / fault.file).read_text()
    compile(broken, fault.file, "exec")


def test_every_test_that_must_notice_exists() -> None:
    tests = [test for fault in FAULTS for test in fault.tests]
    found = collect(tests)
    assert [test for test in tests if test not in found] == []


def test_every_fault_has_a_test_and_every_promise_a_fault() -> None:
    assert all(fault.tests for fault in FAULTS)
    assert {fault.promise for fault in FAULTS} == set(PROMISES)


def test_every_promise_is_broken_on_real_servers_too() -> None:
    on_servers = {fault.promise for fault in FAULTS for test in fault.tests if not test.startswith("tests/unit/")}
    assert on_servers == set(PROMISES)


def test_no_fault_is_declared_twice() -> None:
    assert len({fault.title for fault in FAULTS}) == len(FAULTS)
    assert len({(fault.file, fault.old, fault.new) for fault in FAULTS}) == len(FAULTS)


# --- planting and judging


@pytest.mark.parametrize("text", ["nothing of it", "one and one"], ids=["gone", "twice"])
def test_a_fault_whose_text_is_not_there_exactly_once_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "code.py").write_text(text)
    with pytest.raises(FaultError, match="instead of once"):
        make_fault().plant(tmp_path)


def test_a_planted_fault_changes_its_text_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text("just one of them")
    make_fault().plant(tmp_path)
    assert (tmp_path / "code.py").read_text() == "just two of them"


@pytest.mark.parametrize(
    ("unbroken", "broken"),
    [(PASSED, PASSED), (FAILED, FAILED), (SKIPPED, SKIPPED), (PASSED, NOT_RUN), (PASSED, SKIPPED), (NOT_RUN, FAILED)],
)
def test_only_a_test_that_passes_without_the_fault_and_fails_with_it_has_noticed(
    unbroken: Outcome, broken: Outcome
) -> None:
    fault = make_fault()
    assert not Verdict(fault, fault.tests[0], unbroken, broken).is_noticed
    assert Verdict(fault, fault.tests[0], PASSED, FAILED).is_noticed


def test_the_table_says_what_went_unnoticed() -> None:
    fault = make_fault()
    verdicts = [Verdict(fault, fault.tests[0], PASSED, FAILED), Verdict(fault, fault.tests[0], SKIPPED, PASSED)]
    assert table(verdicts).splitlines()[2:] == [
        "|       1 | a fault | `unit/test_x.py::test_y` | yes | yes |",
        "|       1 | a fault | `unit/test_x.py::test_y` | NO: skipped | NO: passed |",
    ]


def test_tests_run_on_the_broken_copy_and_the_repository_stays_as_it_is(tmp_path: Path) -> None:
    window = (ROOT / "cdc_relay/delivery/window.py").read_text()
    fault = Fault(
        promise=6,
        title="the window is never full",
        file="cdc_relay/delivery/window.py",
        old="return self.record_count >= self.record_limit or",
        new="return self.record_count < 0 or",
        tests=("tests/unit/test_window.py::test_the_window_is_full_at_either_limit",),
    )
    shop = Workshop(tmp_path / "shop")
    [(test, noticed)] = shop.run_broken(fault).items()
    assert (test, noticed.word) == (fault.tests[0], "failed")
    assert shop.run_unbroken(fault.tests) == {test: Outcome("passed")}
    assert (ROOT / "cdc_relay/delivery/window.py").read_text() == window
