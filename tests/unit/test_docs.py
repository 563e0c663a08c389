"""The documents say what is there: links, tests, metrics, paths and commands that they name exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from cdc_relay.cli.reference import reference
from cdc_relay.http.meters import METERS
from cdc_relay.http.reference import reference as metrics_reference
from cdc_relay.stats import State

ROOT = Path(__file__).parents[2]
TOP = [ROOT / name for name in ("README.md", "CHANGELOG.md", "SECURITY.md")]
DOCUMENTS = sorted([*TOP, *(ROOT / "docs").rglob("*.md")])
README = (ROOT / "README.md").read_text()
RELIABILITY = (ROOT / "docs" / "reliability.md").read_text()

LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")
NAMED_TEST = re.compile(r"`(?:\w+/)*(test_\w+\.py)(?:::\w+)*?(?:::(\w+)(?:\[[^`]*\])?)?`")
LOG_EVENTS = {"outbox_start", "outbox_success", "outbox_retry", "outbox_failed"}
NOT_OURS = re.compile(r"/(?:root|home|Users|tmp/|work/)|\bTODO\b", re.IGNORECASE)


def each(document: Path) -> str:
    return str(document.relative_to(ROOT))


@pytest.mark.parametrize("document", DOCUMENTS, ids=each)
def test_every_relative_link_leads_somewhere(document: Path) -> None:
    links = [link for link in LINK.findall(document.read_text()) if "://" not in link]
    assert [link for link in links if not leads_somewhere(document, link)] == []


def leads_somewhere(document: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = document.parent / path if path else document
    return target.exists() and (not anchor or anchor in anchors(target.read_text()))


def anchors(text: str) -> set[str]:
    """As GitHub makes them from headings."""
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("document", DOCUMENTS, ids=each)
def test_every_test_that_is_named_exists(document: Path) -> None:
    named = NAMED_TEST.findall(document.read_text())
    assert [f"{file}::{name}" for file, name in named if not is_a_test(file, name)] == []


def is_a_test(file: str, name: str) -> bool:
    return any(re.search(rf"^ *(?:def |class |){name}\b", path.read_text(), re.MULTILINE) for path in find_tests(file))


def find_tests(file: str) -> list[Path]:
    return list((ROOT / "tests").rglob(file))


def test_every_promise_of_this_version_has_its_tests() -> None:
    promises = RELIABILITY.partition("## Broken on purpose")[0]
    rows = re.findall(r"^\| (\d+) \|.*\| (.*) \|$", promises, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, 19))
    assert [number for number, tests in rows if not NAMED_TEST.search(tests)] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=each)
def test_every_metric_that_is_named_is_served(document: Path) -> None:
    named = re.findall(r"`(outbox_\w+?)(?:_bucket|_sum|_count)?\b[`{]", document.read_text())
    assert set(named) - METERS.keys() - LOG_EVENTS == set()


def test_the_metrics_in_docs_are_the_generated_ones() -> None:
    written = (ROOT / "docs" / "metrics.md").read_text()
    assert written == metrics_reference(), "run: python -m cdc_relay.http.reference > docs/metrics.md"


def test_the_states_of_the_readme_are_those_there_are() -> None:
    table = section("Operations").partition("| metric |")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == [state.value for state in State]


def test_every_path_of_the_code_map_exists() -> None:
    assert [path for path in code_map() if not (ROOT / path).exists()] == []


def test_the_code_map_has_every_part_of_the_package() -> None:
    parts = [path for path in (ROOT / "cdc_relay").iterdir() if not path.name.startswith(("__", "py.typed"))]
    missing = {str(path.relative_to(ROOT)) for path in parts} - {path.rstrip("/") for path in code_map()}
    assert missing == set()


def code_map() -> list[str]:
    return list(paths_of(section("Code map").split("```")[1]))


def paths_of(tree: str) -> Iterator[str]:
    """Two blanks per level; a folder ends with a slash."""
    parents: list[str] = []
    for indent, name in re.findall(r"^( *)([\w./-]+)", tree.partition("\n")[2], re.MULTILINE):
        level = len(indent) // 2
        parents[level:] = [name]
        yield "".join(parents)


def section(title: str) -> str:
    found = re.search(rf"^## {title}$(.*?)(?=^## |\Z)", README, re.MULTILINE | re.DOTALL)
    assert found, title
    return found[1]


def test_the_readme_keeps_its_order() -> None:
    assert re.findall(r"^## (.+)$", README, re.MULTILINE) == [
        "The two commands",
        "Run it on your own servers",
        "Guarantees",
        "Configuration",
        "Commands",
        "Operations",
        "Code map",
        "Limits",
        "Development",
    ]


def test_the_commands_in_docs_are_the_generated_ones() -> None:
    written = (ROOT / "docs" / "commands.md").read_text()
    assert written == reference(), "run: python -m cdc_relay.cli.reference > docs/commands.md"


def test_the_decisions_are_all_listed_in_order() -> None:
    folder = ROOT / "docs" / "decisions"
    records = sorted(path.name for path in folder.glob("0*.md"))
    assert re.findall(r"\]\((0\S+)\)", (folder / "README.md").read_text()) == records


def test_a_decision_has_context_decision_and_consequence() -> None:
    for record in (ROOT / "docs" / "decisions").glob("0*.md"):
        assert re.findall(r"^\*\*(\w+)\.\*\*", record.read_text(), re.MULTILINE) == [
            "Context",
            "Decision",
            "Consequence",
        ], record.name


@pytest.mark.parametrize("document", DOCUMENTS, ids=each)
def test_no_document_names_a_machine(document: Path) -> None:
    assert NOT_OURS.findall(document.read_text()) == []
