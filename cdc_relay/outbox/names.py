"""SQL identifiers as the relay's YAML spells them, read the same way (a test compares the two) and quoted for SQL."""

from __future__ import annotations

import re

from .errors import OutboxError

__all__ = ["quote", "read_column", "read_table"]

_QUOTED = r'"(?:[^"\0\ud800-\udfff]|"")+"'
_BEYOND_ASCII = r"\u0080-\ud7ff\ue000-\U0010ffff"  # surrogates are no characters
_PLAIN = rf"[A-Za-z_{_BEYOND_ASCII}][A-Za-z0-9_${_BEYOND_ASCII}]*"
_NAME = re.compile(f"{_QUOTED}|{_PLAIN}")
_NAMES = re.compile(rf"(?:{_QUOTED}|{_PLAIN})(?:\.(?:{_QUOTED}|{_PLAIN}))*")
_LONGEST_BYTES = 63  # Postgres would cut a longer one

# Postgres folds ASCII letters alone; str.lower() would fold more.
_FOLD = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


def read_table(spelled: str) -> tuple[str, str]:
    """Schema and name; without a schema it is in public, whatever the search_path is."""
    parts = _read(spelled)
    if len(parts) > 2:
        raise OutboxError('expected table or schema.table; a name with a dot goes into double quotes: public."a.b"')
    return ("public", parts[0]) if len(parts) == 1 else (parts[0], parts[1])


def read_column(spelled: str) -> str:
    parts = _read(spelled)
    if len(parts) > 1:
        raise OutboxError('expected the name of a column; one with a dot goes into double quotes: "a.b"')
    return parts[0]


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _read(spelled: str) -> list[str]:
    if not isinstance(spelled, str) or not _NAMES.fullmatch(spelled):
        raise OutboxError("not an SQL identifier; put a name with capitals, spaces or signs into double quotes")
    return [_unquote(name) for name in _NAME.findall(spelled)]


def _unquote(token: str) -> str:
    name = token[1:-1].replace('""', '"') if token.startswith('"') else token.translate(_FOLD)
    if len(name.encode()) > _LONGEST_BYTES:
        raise OutboxError(f"an identifier is longer than {_LONGEST_BYTES} bytes, and Postgres would cut it")
    return name
