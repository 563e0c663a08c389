"""What psycopg says of a connection that failed at several addresses, taken apart again: one text per address. Pure.

A DSN may name several hosts, and a name may have several addresses: psycopg tries them all and has one error for all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

__all__ = ["Attempt", "by_host", "split_attempts"]

_HEAD = re.compile(r"^- host: (\S+), port: (\S+), hostaddr: (\S+): ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Attempt:
    host: str  # as the DSN names it
    address: str
    port: int
    message: str


def split_attempts(message: str) -> list[Attempt]:
    """In the order of the DSN; empty where there was one address only, whose message is the whole."""
    heads = list(_HEAD.finditer(message))
    ends = [*(head.start() for head in heads[1:]), len(message)]
    return [_attempt(head, message[head.end() : end]) for head, end in zip(heads, ends, strict=False)]


def by_host(attempts: Iterable[Attempt]) -> list[list[Attempt]]:
    """Those at the addresses of one host together."""
    return [list(group) for _, group in groupby(attempts, key=lambda attempt: (attempt.host, attempt.port))]


def _attempt(head: re.Match[str], message: str) -> Attempt:
    host, port, address = (_unquote(part) for part in head.groups())
    return Attempt(host, address or host, int(port) if port.isdigit() else 5432, message.strip())


def _unquote(part: str) -> str:
    return "" if part == "None" else part.strip("'\"")
