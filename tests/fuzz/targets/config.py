"""The text of a configuration file is a configuration or one ConfigError. What is accepted can be shown, and runs."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path, PosixPath

import yaml

from cdc_relay.config import RelayConfig, find_warnings, hide
from cdc_relay.config.loader import parse
from cdc_relay.config.secrets import secrets_of
from cdc_relay.errors import ConfigError
from cdc_relay.routing.router import Router
from cdc_relay.target import wanted_of

__all__ = ["TOKENS", "check", "seeds"]

_ENVIRONMENT = {"NAME": "value", "EMPTY": "", "HOST": "db", "ODD": "\udcff"}
_EXAMPLES = Path(__file__).parents[3] / "config"
_KEYS = (
    *("source:", "dsn:", "slot:", "publication:", "sink:", "kafka:", "outboxes:", "table:", "columns:", "routes:"),
    *("when:", "topic:", "key:", "partition:", "timestamp:", "headers:", "envelope:", "cloudevents:", "debezium:"),
    *("fields:", "delivery:", "window:", "retry:", "preset:", "parking:", "http:", "listen:", "topics:", "retention:"),
    *("message_prefix:", "ordering:", "on_dead:", "drop:", "not:", "exact:", "password:", "service:", "drain:"),
)
_SIGNS = ("${NAME}", "${file:x}", "$${", "${ODD}", '"\\ud800"', '"\\U00110000"', '"\\0"', "%YAML 1.1\n---\n", "!!int ")
_VALUES = (
    "postgresql://u:p@h/d",
    "host=h password=p",
    "{column: a}",
    "&a ",
    "*a",
    "? ",
    "- ",
    "<<: ",
    "1e-05",
    "32MiB",
)
TOKENS = tuple(text.encode() for text in (*_KEYS, *_SIGNS, *_VALUES))


class _Closet(PosixPath):
    """The folder of the file. Whatever ${file:…} names is in it: a fuzzer must not open the machine's own files."""

    def __truediv__(self, name: str | Path) -> Path:  # type: ignore[override]  # a plain Path
        return Path(str(self)) / str(name).replace("/", "_").replace("..", "_")


_folder = tempfile.TemporaryDirectory(prefix="cdc-relay-fuzz-")  # goes with the process
_closet = _Closet(_folder.name)
(Path(_folder.name) / "x").write_text("secret\n")


def check(data: bytes) -> None:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return  # the loader says so, with the line: a test of its own
    config = _parse(text)
    if config is not None:
        _check_use(config)


def _parse(text: str) -> RelayConfig | None:
    try:
        return parse(text, file="relay.yaml", environment=_ENVIRONMENT, folder=_closet)
    except ConfigError as exc:
        assert exc.message
        str(exc).encode()  # it is printed
        return None


def _check_use(config: RelayConfig) -> None:
    for warning in find_warnings(config):
        warning.encode()
    shown = hide(config)
    text = yaml.safe_dump(shown, sort_keys=False, allow_unicode=True, width=120)
    assert not [secret for secret in secrets_of(config) if len(secret) > 20 and secret in text]
    again = _parse(text)
    assert again is not None, "what `config show` prints is no configuration"
    assert hide(again) == shown
    router = Router(wanted_of(config).outboxes)
    for name in [
        header for outbox in wanted_of(config).outboxes for route in outbox.routes for header, _ in route.headers
    ]:
        name.encode()  # the client does
    router.plan_messages(now_us=lambda: 0)


def seeds() -> Iterator[bytes]:
    for example in sorted(_EXAMPLES.glob("*.yaml")):
        yield example.read_bytes()
    head = b"source: {dsn: 'host=h', slot: s, publication: p}\nsink: {kafka: {bootstrap.servers: 'b:1'}}\n"
    yield head + b"outboxes:\n- table: a\n"
    yield head + b"outboxes:\n- message_prefix: m\n  routes: [{topic: 't{a.b}', when: {x: [null, 'a*', {not: b}]}}]\n"
    yield (
        head + b"outboxes:\n- table: a\n  routes:\n  - {topic: t, headers: {h: '{c}'}, envelope: {cloudevents: {}}}\n"
    )
    yield head + b"outboxes:\n- table: a\n  routes:\n  - {drop: true, when: {a: b}}\n  - {topic: t, envelope: native}\n"
    yield b"a: &x [1]\nb: *x\n"
