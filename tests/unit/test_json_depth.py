"""How deep JSON may be nested: the same number in every Python, and no text takes the process with it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdc_relay.routing.json_depth import DEEPEST_LEVELS, is_too_deep
from cdc_relay.routing.json_text import BadJsonError, HugeJsonError, check_json

KINDS = {"arrays": ("[", "]"), "objects": ('{"a":', "}"), "both": ('[{"a":', "}]")}
DECOYS = ["[" * 600, "]" * 600, '"', "\\", '\\"[', '["', "é", "\ud800"]
# A thread as small as some platforms make them: what overflows it ends the process with a signal.
ON_A_SMALL_STACK = """
import sys, threading
from cdc_relay.routing.json_text import HugeJsonError, check_json
def read() -> None:
    for levels in (512, 513, 9_000, 100_000, 4_000_000):
        for begin, end in (("[", "]"), ('{"a":', "}")):
            try:
                check_json(begin * levels + "1" + end * levels)
            except HugeJsonError:
                print("huge")
threading.stack_size(256 << 10)
thread = threading.Thread(target=read)
thread.start()
thread.join()
"""


def nest(levels: int, kind: str, core: str = "1") -> str:
    begin, end = KINDS[kind]
    count = levels // len(end)
    return begin * count + core + end * count


@pytest.mark.parametrize("kind", KINDS)
def test_the_deepest_that_is_allowed_is_read_and_one_level_more_is_not(kind: str) -> None:
    assert check_json(nest(DEEPEST_LEVELS, kind))
    with pytest.raises(HugeJsonError):
        check_json("[" + nest(DEEPEST_LEVELS, kind) + "]")


@given(st.lists(st.sampled_from(DECOYS), max_size=8), st.sampled_from(sorted(KINDS)), st.booleans())
def test_brackets_inside_strings_are_no_levels(decoys: list[str], kind: str, is_deeper: bool) -> None:
    strings = json.dumps([*decoys, "[" * 600], ensure_ascii=False)  # one level itself
    levels = DEEPEST_LEVELS - 2
    text = f"[{strings}, {nest(levels, kind, strings)}]"
    assert is_too_deep(f"[{text}]" if is_deeper else text) == is_deeper


def test_many_brackets_side_by_side_are_not_deep() -> None:
    assert check_json("[" + "[],{}," * 10_000 + "[]]")


GARBAGE = ['"' * 600, "\\" * 601, '\\"' * 600, '"' + "\\" * 601, "]" * 600, "\ud800" * 600]


@pytest.mark.parametrize("garbage", GARBAGE)
def test_garbage_after_them_does_not_hide_levels(garbage: str) -> None:
    assert is_too_deep("[" * 600 + garbage)


@pytest.mark.parametrize("garbage", GARBAGE)
def test_garbage_before_them_ends_the_reading(garbage: str) -> None:
    """Whether they are counted or not: nobody reads as far as they are."""
    with pytest.raises((BadJsonError, HugeJsonError)):
        check_json(garbage + "[" * 100_000)


def test_a_small_stack_bears_whatever_comes() -> None:
    ended = subprocess.run([sys.executable, "-c", ON_A_SMALL_STACK], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.split() == ["huge"] * 8
