"""The README as the tests read it: its blocks, its commands, and those that the walk is made of."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

__all__ = ["INSTALL", "README", "ROOT", "RUN", "WALK", "Block", "blocks", "commands"]

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()

WALK = ("Run it on your own servers", "Configuration", "Operations")  # in this order, with one relay
INSTALL, SETUP, RUN = "pip install .", "cdc-relay setup -c relay.yaml", "cdc-relay run -c relay.yaml"


class Block(NamedTuple):
    section: str
    language: str
    text: str


def blocks() -> list[Block]:
    found = []
    for title, body in re.findall(r"^## (.+?)$(.*?)(?=^## |\Z)", README, re.MULTILINE | re.DOTALL):
        found += [
            Block(title, *parts) for parts in re.findall(r"^```(\w*)\n(.*?)^```$", body, re.MULTILINE | re.DOTALL)
        ]
    return found


def commands(*sections: str) -> list[str]:
    """The lines of the shell blocks, of all sections or of some."""
    shell = [block for block in blocks() if block.language == "sh" and (not sections or block.section in sections)]
    return [line for block in shell for line in block.text.splitlines()]
