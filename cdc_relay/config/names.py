"""SQL identifiers as Postgres reads and prints them: tables, columns, publications. Asks no server."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cdc_relay.config.keywords import KEYWORDS

__all__ = ["TableName", "parse_identifier", "parse_table", "quote_identifier"]

_QUOTED = r'"(?:[^"]|"")*"'
# A letter or _, then also digits and $. By what is left out of ASCII: the set itself takes 5 ms to compile.
_PLAIN = r"[^\x00-@\[-^`{-\x7f][^\x00-#%-/:-@\[-^`{-\x7f]*"
_IDENTIFIER = re.compile(f"{_QUOTED}|{_PLAIN}")
_NEEDS_NO_QUOTES = re.compile(r"[a-z_][a-z0-9_]*")
_LONGEST_BYTES = 63  # NAMEDATALEN - 1: Postgres cuts a longer name, and we would look for one that does not exist

# Postgres folds only ASCII letters when the server encoding is UTF-8; str.lower() would fold more.
_FOLD = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


@dataclass(frozen=True, slots=True)
class TableName:
    """A table by its names in the catalog; str() is the SQL spelling, quoted where SQL needs it."""

    schema: str
    name: str

    def __str__(self) -> str:
        return f"{quote_identifier(self.schema)}.{quote_identifier(self.name)}"


def parse_table(text: str) -> TableName:
    parts = _split(text)
    if len(parts) > 2:
        raise ValueError("expected table or schema.table; a name that contains a dot goes into double quotes")
    return TableName(schema="public", name=parts[0]) if len(parts) == 1 else TableName(schema=parts[0], name=parts[1])


def parse_identifier(text: str) -> str:
    """The name in the catalog that this SQL spelling means: `Orders` is orders, `"Orders"` is Orders."""
    parts = _split(text)
    if len(parts) > 1:
        raise ValueError("expected one name; a name that contains a dot goes into double quotes")
    return parts[0]


def quote_identifier(name: str) -> str:
    if _NEEDS_NO_QUOTES.fullmatch(name) and name not in KEYWORDS:
        return name
    return '"' + name.replace('"', '""') + '"'


def _split(text: str) -> list[str]:
    parts: list[str] = []
    start = 0
    while match := _IDENTIFIER.match(text, start):
        parts.append(_catalog_name(match[0]))
        if match.end() == len(text):
            return parts
        if text[match.end()] != ".":
            break
        start = match.end() + 1
    raise ValueError("not an SQL identifier; put a name with capitals, spaces or signs into double quotes")


def _catalog_name(token: str) -> str:
    name = token[1:-1].replace('""', '"') if token.startswith('"') else token.translate(_FOLD)
    if not name or "\0" in name:
        raise ValueError("a name must not be empty")
    if len(name.encode("utf-8", "surrogatepass")) > _LONGEST_BYTES:
        raise ValueError(f"longer than {_LONGEST_BYTES} bytes, and Postgres would cut it")
    return name
