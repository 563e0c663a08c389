"""Samples of a profile: read from py-spy's raw format, named without a machine's paths, added up by stage. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

__all__ = ["STAGES", "Stack", "parse", "shorten", "stage_of", "stage_shares", "work_of"]

Stack = tuple[str, ...]  # the outermost frame first

REST = "the rest"
# A stack belongs to the first of its frames, from the outside, that one of these knows: what a stage calls is its own.
STAGES: Mapping[str, re.Pattern[str]] = {
    "read": re.compile(r"\(cdc_relay/(sources/|native/copy_data)"),
    "decode and route": re.compile(r"^Stages\.take |\(cdc_relay/(delivery/intake|native/lane|protocol/|routing/)"),
    "produce": re.compile(r"^Stages\.offer |\(cdc_relay/dispatch/publisher"),
    "reports and settling": re.compile(r"_await_reports |\(cdc_relay/(sinks/|native/reports|dispatch/returns)"),
}
_FRAME = re.compile(r"(?P<name>.+) \((?P<file>[^()]+?)(:\d+)?\)")
_ADDRESS = re.compile(r"0x[0-9a-f]+ ")  # without a name, and another one in each process
_WAITS = re.compile(r"(select|poll|epoll_wait|\w*nanosleep|pthread_cond_\w*wait|sem_\w*wait\w*) \(libc")
_THREAD = re.compile(r"thread \([^)]*\)(: )?|process \d+.*")
_CYTHON = re.compile(r"__pyx_\w*?_9cdc_relay_6native_(?P<parts>\w+)")
_PACKAGES = re.compile(r".*?((?:cdc_relay|confluent_kafka|psycopg|psycopg_binary|cimpl)/.*)")


def parse(lines: Iterable[str]) -> Counter[Stack]:
    """Each line is `frame;frame;… count`."""
    stacks: Counter[Stack] = Counter()
    for line in lines:
        frames, _, count = line.rstrip().rpartition(" ")
        if frames:
            known = [frame for frame in frames.split(";") if not _ADDRESS.match(frame)]
            stacks[tuple(shorten(frame) for frame in known)] += int(count)
    return stacks


def work_of(stacks: Mapping[Stack, int], *, thread: str, below: str) -> Counter[Stack]:
    """What a thread does in a function, from there on. py-spy takes some waits for work when it looks at C."""
    found: Counter[Stack] = Counter()
    for stack, count in stacks.items():
        starts = [place for place, frame in enumerate(stack) if frame.startswith(f"{below} (")]
        if stack[0] == thread and starts and not _WAITS.match(stack[-1]):
            found[stack[starts[0] :]] += count
    return found


def shorten(frame: str) -> str:
    """`name (file)`, the file as its package has it; what is compiled is named as its source is."""
    if _THREAD.match(frame):
        return _THREAD.sub("", frame).strip('" ') or "thread"
    found = _FRAME.fullmatch(frame)
    if found is None:
        return frame.rpartition("/")[2]
    name, file = found["name"], _short_file(found["file"])
    if compiled := _CYTHON.search(name):
        return _name_compiled(compiled["parts"])
    return f"{name} ({file})"


def _short_file(file: str) -> str:
    file = re.sub(r"\.cpython-[\w-]+\.so$", ".pyx" if "cdc_relay/native/" in file else ".so", file)
    inside = _PACKAGES.fullmatch(file)
    file = inside[1] if inside else file.rpartition("/")[2]
    return re.sub(r"-[0-9a-f]{8}(?=\.so)", "", file)  # of a library that came in a wheel


def _name_compiled(mangled: str) -> str:
    """`4lane_4Lane_3take` is Lane.take of native/lane: each name has its length before it, a method also its number."""
    names: list[str] = []
    while found := re.match(r"_?(\d+)", mangled):
        length, rest = int(found[1]), mangled[found.end() :]
        if length > len(rest) or not re.match(r"[A-Za-z_]", rest) or (len(names) > 1):
            break
        names.append(rest[:length])
        mangled = rest[length:]
    function = re.sub(r"^_\d*", "", mangled) or "…"
    return f"{'.'.join([*names[1:], function])} (cdc_relay/native/{names[0] if names else '…'}.pyx)"


def stage_of(stack: Stack) -> str:
    for frame in stack:
        for stage, pattern in STAGES.items():
            if pattern.search(frame):
                return stage
    return REST


def stage_shares(stacks: Mapping[Stack, int]) -> dict[str, float]:
    """Of all samples; every stage is there, also one that was never seen."""
    counts: Counter[str] = Counter()
    for stack, count in stacks.items():
        counts[stage_of(stack)] += count
    total = sum(counts.values()) or 1
    return {stage: counts[stage] / total for stage in (*STAGES, REST)}
