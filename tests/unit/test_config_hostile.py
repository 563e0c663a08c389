"""Files that want to do harm: refused with file and line, never with a traceback, and in bounded time and memory."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cdc_relay.config.loader import parse
from cdc_relay.errors import ConfigError

GOOD = """\
source: {dsn: postgresql://relay@db/orders, slot: s, publication: p}
sink: none
outboxes:
  - table: public.outbox
"""
ROUTED = GOOD + "    routes:\n"
MEMORY_BYTES = 600 << 20
CPU_SECONDS = 60
FULL = 1 << 20  # a file may be so long


def problems(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse(text, file="relay.yaml", environment={}, folder=Path())
    return str(caught.value).splitlines()


# --- tags: YAML's way to make objects

TAGS = [
    "!!python/object/apply:os.system ['touch pwned']",
    "!!python/object/new:os.system ['touch pwned']",
    "!!python/name:os.system ''",
    "!!python/module:os ''",
    "!!python/tuple [a, b]",
    "!!python/object:cdc_relay.model.Record {}",
    "!<tag:yaml.org,2002:python/object/apply:os.system> ['touch pwned']",
    "!local value",
    "!!binary aGVsbG8=",
    "!!set {a, b}",
    "!!omap [a: b]",
]


@pytest.mark.parametrize("tag", TAGS)
@pytest.mark.parametrize(
    ("place", "where"),
    [
        (f"{GOOD}http: {{listen: %s}}\n", "5: http.listen"),
        (f"{GOOD}http:\n  listen:\n    - %s\n", "7: http.listen[0]"),
        (f"{GOOD}service: %s\n", "5: service"),
    ],
    ids=["value", "item", "top"],
)
def test_a_tag_is_refused_with_its_line_and_makes_no_object(
    tag: str, place: str, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = "tags (!…) are refused; only plain values, lists and mappings are read"
    assert f"relay.yaml:{where}: {refused}" in problems(place % tag)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("tag", TAGS)
def test_a_tag_of_the_whole_file_is_refused(tag: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    [found] = problems(f"{tag}\n")
    assert found.startswith("relay.yaml:1: ")
    assert list(tmp_path.iterdir()) == []


def test_a_tag_of_a_key_is_refused_with_its_line() -> None:
    [found] = problems(f"{GOOD}http:\n  !!python/name:os.system listen: off\n")
    assert found.startswith("relay.yaml:6: http.?: tags (!…) are refused")


def test_a_merge_is_a_key_that_nobody_knows() -> None:
    [found] = problems(f"{GOOD}http:\n  <<: {{listen: off}}\n")
    assert found.startswith("relay.yaml:6: http.<<: unknown key")


# --- templates that try to reach more than the row has

TEMPLATES = [
    "{payload.__class__}",
    "{payload.__class__.__mro__}",
    "{payload.a.__init__.__globals__}",
    "{0.__init__}",
    "{0}",
    "{}",
    "{{payload}}",
    "{payload!r}",
    "{payload:>1000000000}",
    "{payload[0]}",
    "{payload()}",
    "{__import__('os').system('x')}",
    "{payload",
    "payload}",
    "%(payload)s{",
    "{payload..a}",
    '{"payload}',
]


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("key", ["topic", "key", "partition", "timestamp"])
def test_a_template_that_reaches_for_more_than_the_row_is_refused_with_its_line(key: str, template: str) -> None:
    topic = "" if key == "topic" else "        topic: orders\n"
    [found] = problems(f"{ROUTED}      - name: one\n{topic}        {key}: {as_yaml(template)}\n")
    assert found.startswith(f"relay.yaml:{8 if topic else 7}: outboxes[0].routes[0].{key}: "), found


@pytest.mark.parametrize("template", TEMPLATES)
def test_so_is_one_of_a_header(template: str) -> None:
    route = f"      - topic: orders\n        headers:\n          tenant: {as_yaml(template)}\n"
    [found] = problems(ROUTED + route)
    assert found.startswith("relay.yaml:8: outboxes[0].routes[0].headers.tenant: "), found


def as_yaml(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


# --- names that are none: what is one, however hostile, is quoted (test_hostile_names.py)

NO_IDENTIFIERS = ["a'b", "a;b", "a b", 'a"b', '"a', "a.b.c", "1a", '""', f'"{"x" * 64}"', "a--b", "a\nb", "$$", "a()"]
ODD_TEXTS = {"NUL": '"\\"a\\0b\\""', "half a sign": '"\\"a\\uD800b\\""'}  # as YAML writes them


@pytest.mark.parametrize("name", NO_IDENTIFIERS, ids=ascii)
@pytest.mark.parametrize("key", ["publication", "table", "columns.key", "columns.payload"])
def test_what_is_no_identifier_is_refused_with_its_line(name: str, key: str) -> None:
    [found] = problems(named(key, as_yaml(name) if "\n" not in name else '"a\\nb"'))
    assert re.match(rf"relay\.yaml:\d+: (source|outboxes\[0\])\.{key}: ", found), found


@pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=list(ODD_TEXTS))
@pytest.mark.parametrize("key", ["slot", "publication", "table", "columns.key", "message_prefix"])
def test_what_is_no_text_for_postgres_is_refused_with_its_line(text: str, key: str) -> None:
    found = problems(named(key, text))
    assert re.match(rf"relay\.yaml:\d+: ((source|outboxes\[0\])\.{key}: |not YAML)", found[0]), found


def named(key: str, value: str) -> str:
    """A file with this value at one of its names."""
    source = {"dsn": "postgresql://relay@db/orders", "slot": "s", "publication": "p"}
    outbox = {"message_prefix": "m"} if key == "message_prefix" else {"table": "t"}
    lines = [f"  {name}: {value if name == key else given}\n" for name, given in source.items()]
    boxes = [f"    {name}: {value if name == key else given}\n" for name, given in outbox.items()]
    section, _, below = key.partition(".")
    boxes += [f"    columns:\n      {below}: {value}\n"] if section == "columns" else []
    return "".join(["source:\n", *lines, "sink: none\noutboxes:\n  -\n", *boxes])


# --- bombs, in a process of their own with little memory and time


def aliases() -> str:
    """The billion laughs: ten lines that stand for gigabytes."""
    first = 'a: &a ["ha", "ha", "ha", "ha", "ha", "ha", "ha", "ha", "ha"]\n'
    return first + "".join(
        f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
    )


def many_keys() -> str:
    return GOOD + "".join(f"k{number}: v\n" for number in range(FULL // 12))


def many_routes() -> str:
    """Each with a problem of its own, and no more values than a file may have."""
    return ROUTED + "      - {topc: a}\n" * 30_000


BOMBS: dict[str, tuple[Callable[[], str], str]] = {
    "aliases": (aliases, ":2: aliases (*name) are refused"),
    "an alias of itself": (lambda: f"{GOOD}http: &a\n  listen: *a\n", ":6: aliases (*name) are refused"),
    "flow nesting": (lambda: "a: " + "[" * (FULL - 10), ":1: nested deeper than 32 levels"),
    "flow mappings": (lambda: "{a: " * (FULL // 5), ":1: nested deeper than 32 levels"),
    "block nesting": (lambda: "".join(f"{' ' * depth}a:\n" for depth in range(1400)), ":32: nested deeper than 32"),
    "nested items": (lambda: "- " * (FULL // 2 - 5) + "a", ":1: nested deeper than 32 levels"),
    "a huge scalar": (lambda: f"{GOOD}service: {'x' * (FULL - 200)}\n", ":5: service: expected 1 to 100 letters"),
    "a huge number": (
        lambda: f"{GOOD}delivery: {{window: {{records: {'9' * (FULL - 200)}}}}}\n",
        ":5: delivery.window.re",
    ),
    "a huge duration": (lambda: f"{GOOD}delivery:\n  drain: {'9' * (FULL - 200)}s\n", ":6: delivery.drain: "),
    "a huge identifier": (
        lambda: GOOD.replace("public.outbox", "x" * (FULL - 200)),
        ":4: outboxes[0].table: longer than",
    ),
    "a huge template": (
        lambda: f"{ROUTED}      - topic: '{'{a}' * (FULL // 4)}{{'\n",
        ":6: outboxes[0].routes[0].topic",
    ),
    "a huge pattern": (lambda: f"{ROUTED}      - topic: '{'*' * (FULL - 200)}'\n", ":6: outboxes[0].routes[0].topic"),
    "a huge DSN": (lambda: GOOD.replace("//relay@db", "//" + "a@" * (FULL // 4) + "db"), ":1: source.dsn: "),
    "a huge key": (lambda: f"{GOOD}? {'k' * (FULL - 200)}\n: v\n", ":5: kkkk"),
    "a huge plain key": (lambda: f"{GOOD}{'k' * (FULL - 200)}: v\n", ":5: not YAML at column"),
    "many keys": (many_keys, ":49997: more than 100000 keys and values"),
    "many routes": (many_routes, ":6: outboxes[0].routes[0].topc: unknown key; did you mean 'topic'?"),
    "many documents": (lambda: "--- a\n" * (FULL // 6 - 1), ":2: not YAML at column 1: but found another document"),
    "many anchors": (lambda: GOOD + "".join(f"k{n}: &a{n} v\n" for n in range(FULL // 18)), ":"),
    "many quotes": (lambda: f"{GOOD}service: {chr(39) * (FULL - 201)}\n", ":"),
    "one byte too many": (lambda: "#" * (FULL + 1), ": larger than 1 MiB"),
}


def limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_refused_in_bounded_time_and_memory(bomb: str, tmp_path: Path) -> None:
    make, said = BOMBS[bomb]
    file = tmp_path / "relay.yaml"
    file.write_text(make())
    command = [sys.executable, "-m", "cdc_relay", "config", "show", "-c", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr[-2000:]
    first = done.stderr.splitlines()[0]
    assert first.startswith(f"cdc-relay: {file}{said}"), first[:300]
    assert "Traceback" not in done.stderr
    assert len(done.stderr) < 20_000
