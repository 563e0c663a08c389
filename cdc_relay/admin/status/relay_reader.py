"""The running relay, asked over HTTP within time limits: its own words, or why there are none."""

from __future__ import annotations

import http.client
import json
import math
import ssl
from dataclasses import fields
from typing import Any
from urllib.parse import SplitResult, urlsplit

from cdc_relay.admin.status.report import ClosedTopic, Error, Relay, Trouble
from cdc_relay.errors import ConfigError

__all__ = ["parse_answer", "read_relay", "url_of"]

_ANSWER_SECONDS = 3.0
_LARGEST_BYTES = 1 << 20
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # where a server listens on all addresses
_NUMBERS = (int, float)


def url_of(address: tuple[str, int]) -> str:
    """Of a relay on this machine with this http.listen."""
    host = _ANYWHERE.get(address[0], address[0])
    return f"http://[{host}]:{address[1]}" if ":" in host else f"http://{host}:{address[1]}"


def read_relay(url: str, slot: str) -> Relay | Trouble:
    try:
        status, body = _get(_split(url))
    except (OSError, http.client.HTTPException, UnicodeError) as exc:  # the last: no host has such a name
        return _trouble(
            f"no answer at {url}: {str(exc) or type(exc).__name__}",
            "if it runs on another host or port, say where: --url http://HOST:PORT; else start it",
        )
    relay = parse_answer(body) if status == http.HTTPStatus.OK else None
    if relay is None:
        return _trouble(
            f"what answers at {url} is no cdc-relay that knows /status (HTTP {status})",
            "an older cdc-relay, or another program: see http.listen, or say where the relay is: --url http://HOST:PORT",
        )
    if relay.slot != slot:
        return _trouble(
            f"the relay that answers at {url} reads slot {relay.slot[:63]!r}, not {slot!r}",
            "give each relay an http.listen of its own, or say where this one is: --url http://HOST:PORT",
        )
    return relay


def parse_answer(body: bytes) -> Relay | None:
    """None where it is not what a relay says. A newer one may say more."""
    try:
        said = json.loads(body)
        topics = tuple(_fill(ClosedTopic, topic) for topic in said["closed_topics"])
        errors = tuple(_fill(Error, error) for error in said["errors"])
        relay: Relay = _fill(Relay, said | {"closed_topics": topics, "errors": errors})
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return relay


def _split(url: str) -> SplitResult:
    """The page has no login, and what is printed everywhere should have no password."""
    if "@" in url:
        remedy = "leave out user and password: the page of a relay has no login"
        raise ConfigError("--url: expected http://HOST:PORT, without @", remedy=remedy)
    try:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return parts
    except ValueError:  # the port is no number, or a bracket is open
        pass
    raise ConfigError(f"--url {url}: expected http://HOST:PORT", remedy="say where the relay serves HTTP")


def _get(parts: SplitResult) -> tuple[int, bytes]:
    line = _connect(parts)
    try:
        line.request("GET", f"{parts.path.rstrip('/')}/status", headers={"Accept": "application/json"})
        answer = line.getresponse()
        return answer.status, answer.read(_LARGEST_BYTES)
    finally:
        line.close()


def _connect(parts: SplitResult) -> http.client.HTTPConnection:
    host = parts.hostname or ""
    if parts.scheme == "http":
        return http.client.HTTPConnection(host, parts.port, timeout=_ANSWER_SECONDS)
    return http.client.HTTPSConnection(host, parts.port, timeout=_ANSWER_SECONDS, context=ssl.create_default_context())


def _fill(shape: Any, said: dict[str, Any]) -> Any:
    """A dataclass of what was said, each value of the type that its field has."""
    return shape(**{field.name: _typed(said[field.name], str(field.type)) for field in fields(shape)})


def _typed(value: Any, wanted: str) -> Any:
    if value is None and wanted.endswith("None"):
        return None
    kinds: dict[str, Any] = {"str": str, "bool": bool, "int": int, "float": _NUMBERS, "tuple": tuple}
    kind = kinds[wanted.partition(" ")[0].partition("[")[0]]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"expected {wanted}")
    if isinstance(value, float) and not math.isfinite(value):
        raise TypeError("expected a number")
    return value


def _trouble(problem: str, remedy: str) -> Trouble:
    return Trouble("relay", problem, remedy)
