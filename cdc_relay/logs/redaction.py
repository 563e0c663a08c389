"""The last line of defence: secrets of the configuration are *** in whatever is said.

No text is meant to have one. A library's may all the same, when it quotes a connection string or a property.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote, quote_plus

__all__ = ["HIDDEN", "Redaction", "learn_secrets", "redact", "redact_all", "redaction"]

HIDDEN = "***"
_LEAST_CHARS = 4  # a shorter one is in too many words
_ANYWHERE_CHARS = 12  # a shorter one is hidden as a whole word only: "relay" as a password must not blind every line
# Each word is looked at once, from its start, and never given back: in a long text anything else takes minutes.
_KEY = r"(?<![\w.])(?=[\w.]*?(?:password|passphrase|secret|token))[\w.]++"
_VALUE = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s,;&'"]+)"""
# Of texts whose secrets nobody told us: user:password@ in a URL, password=… in a conninfo, "password": "…" in JSON.
_URL = re.compile(r"((?<=\w)://[^\s/:@]*:)[^\s/@]+(?=@)")
_PAIR = re.compile(rf"({_KEY} ?= ?|\"{_KEY}\" ?: ?){_VALUE}", re.IGNORECASE)


class Redaction:
    def __init__(self) -> None:
        self._secrets: set[str] = set()
        self._known: re.Pattern[str] | None = None

    def learn(self, secrets: Iterable[str]) -> None:
        self._secrets.update(part for secret in secrets for part in _parts(secret))
        spellings = {each for secret in self._secrets for each in _spellings(secret)}
        longest_first = sorted(spellings, key=lambda each: (-len(each), each))
        self._known = re.compile("|".join(map(_pattern, longest_first))) if spellings else None

    def clean(self, text: str) -> str:
        if self._known is not None:
            text = self._known.sub(HIDDEN, text)
        if "://" in text:
            text = _URL.sub(rf"\1{HIDDEN}", text)
        return _PAIR.sub(rf"\1{HIDDEN}", text)

    def clean_all(self, value: object) -> object:
        """Also of what is inside; objects as their repr."""
        match value:
            case str():
                return self.clean(value)
            case None | bool() | int() | float():
                return value
            case Mapping():
                return {self.clean(str(key)): self._clean_pair(str(key), below) for key, below in value.items()}
            case list() | tuple() | set() | frozenset():
                return [self.clean_all(below) for below in value]
            case _:
                return self.clean(repr(value))

    def _clean_pair(self, key: str, value: object) -> object:
        return HIDDEN if isinstance(value, str) and re.fullmatch(_KEY, key, re.IGNORECASE) else self.clean_all(value)


redaction = Redaction()  # of this process


def learn_secrets(secrets: Iterable[str]) -> None:
    redaction.learn(secrets)


def redact(text: str) -> str:
    return redaction.clean(text)


def redact_all(value: object) -> object:
    return redaction.clean_all(value)


def _parts(secret: str) -> list[str]:
    """Of a key in PEM its lines too: an error may quote one."""
    lines = [line for line in secret.splitlines() if not line.startswith("-----")]
    return [each for each in {secret, *lines} if len(each) >= _LEAST_CHARS and not each.isspace()]


def _spellings(secret: str) -> set[str]:
    """As URLs, conninfos, JSON and Python write it."""
    conninfo = secret.replace("\\", "\\\\").replace("'", "\\'")
    shown = {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], repr(secret)[1:-1]}
    bytes_shown = repr(secret.encode("utf-8", "replace"))[2:-1]
    return {
        secret,
        quote(secret, safe="", errors="replace"),
        quote_plus(secret, errors="replace"),
        conninfo,
        bytes_shown,
        *shown,
    }


def _pattern(spelling: str) -> str:
    escaped = re.escape(spelling)
    return escaped if len(spelling) >= _ANYWHERE_CHARS else rf"(?<!\w){escaped}(?!\w)"
