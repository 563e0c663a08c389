"""Every piece of configuration that the documents show loads: whole files, outboxes, routes, envelopes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from cdc_relay.config import RelayConfig
from cdc_relay.config.envelopes import parse_envelope
from cdc_relay.config.loader import parse

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
GUIDES = ["migrating-from-debezium.md", "migrating-from-polling.md"]
REST: dict[str, Any] = {
    "source": {"dsn": "postgresql://relay@db/orders", "slot": "s", "publication": "p"},
    "sink": {"kafka": {"bootstrap.servers": "kafka:9092"}},
    "outboxes": [{"table": "public.outbox"}],
}


def _blocks() -> list[Any]:
    found = [(path, re.finditer(r"^```yaml\n(.*?)^```", path.read_text(), re.M | re.S)) for path in DOCUMENTS]
    return [
        pytest.param(block[1], id=f"{path.name}-{place}") for path, all_ in found for place, block in enumerate(all_)
    ]


def _load(block: str) -> RelayConfig:
    """A whole file, some of its keys, or some of an outbox's; what is not shown is filled in."""
    shown = yaml.safe_load(block)
    if "routes" in shown:
        shown = {"outboxes": [{"table": "public.outbox", **shown}]}
    return parse(yaml.safe_dump(REST | shown), file="relay.yaml", environment={}, folder=ROOT)


@pytest.mark.parametrize("block", _blocks())
def test_every_block_of_yaml_loads(block: str) -> None:
    assert _load(block).outboxes


@pytest.mark.parametrize("name", ["README.md", "routing.md", "envelopes.md", "topics.md", "producers.md", *GUIDES])
def test_the_documents_of_the_file_show_some(name: str) -> None:
    assert [block for block in _blocks() if str(block.id).startswith(name)]


@pytest.mark.parametrize("name", ["envelopes.md", "migrating-from-debezium.md"])
def test_every_envelope_that_is_shown_in_a_line_is_one(name: str) -> None:
    text = (ROOT / "docs" / name).read_text()
    shown = re.findall(r"`(\{?(?:debezium|cloudevents): [^`…]+)`", text)
    assert shown
    for each in shown:
        parse_envelope(yaml.safe_load(each if each.startswith("{") else f"{{{each}}}"))
