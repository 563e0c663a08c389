"""Templates, fields and conditions: parsed or refused, spelt again as they were meant, and true to what they say.

What the configuration parses is refused with a plain ValueError, which its loader turns into the one ConfigError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from cdc_relay.config.route_fields import parse_condition, parse_template, spell_condition, spell_template
from cdc_relay.config.topics import parse_topic
from cdc_relay.errors import ConfigError
from cdc_relay.protocol.messages import Column
from cdc_relay.routing.conditions import Condition, covers, holds
from cdc_relay.routing.places import Places
from cdc_relay.routing.templates import Template
from tests.fuzz.script import Script

__all__ = ["TOKENS", "check", "seeds"]

TOKENS = (b"{a}", b'{"A b"}', b"{payload.a.0}", b"{a.b}", b'""', b"{{", b"**", b"?", b"a*b", b"{ a }", b"\\.")

T = TypeVar("T")

_DEEPEST = 6
_VALUES = (None, b"", b"a", b"ab", b"a.b", b"*", b"\xff", "\u00e4".encode())


def check(data: bytes) -> None:
    script = Script(data)
    if script.byte() & 1:
        _check_conditions(script)
    else:
        _check_templates(script.rest().decode("utf-8", "replace"))


def _check_templates(text: str) -> None:
    try:
        template = Template.parse(text)
    except ConfigError:
        assert _attempt(parse_template, text) is None
    else:
        assert str(template) == text
        _check_rendering(template)
    for parse in (parse_template, parse_topic):
        parsed = _attempt(parse, text)
        assert parsed is None or parse(spell_template(parsed)) == parsed


def _check_rendering(template: Template) -> None:
    """Of a row, and of the values themselves; NULL wherever a field is NULL and not alone."""
    columns = tuple(dict.fromkeys(template.columns))
    described = tuple(Column(name, 3802, -1, False) for name in columns)
    read = template.bind(Places(described))
    found = read(tuple(b'{"a": {"b": ["x"]}}' for _ in columns))
    assert found is None or type(found) is bytes
    for values in ([b"v"] * len(template.fields), [None] * len(template.fields)):
        rendered = template.render(values)
        assert (rendered is None) == (None in values)


def _check_conditions(script: Script) -> None:
    wide, narrow = (_attempt(parse_condition, _read_condition(script, 0)) for _ in range(2))
    values = [*_VALUES, script.rest()]
    for condition in (wide, narrow):
        assert condition is None or parse_condition(spell_condition(condition)) == condition
    if wide is not None and narrow is not None:
        _check_cover(wide, narrow, values)


def _check_cover(wide: Condition, narrow: Condition, values: list[bytes | None]) -> None:
    """Or a route would be called unreachable that is not."""
    if covers(wide, narrow):
        assert all(holds(wide, value) for value in values if holds(narrow, value))


def _read_condition(script: Script, depth: int) -> object:
    """As the YAML would give it."""
    match script.byte() % (4 if depth >= _DEEPEST else 9):
        case 0:
            return None
        case 1:
            return True
        case 2 | 3:
            return script.chunk().decode("utf-8", "replace")
        case 4 | 5:
            return [_read_condition(script, depth + 1) for _ in range(script.byte() % 4)]
        case 6:
            return {"exact": _read_condition(script, depth + 1)}
        case 7:
            return {"not": _read_condition(script, depth + 1)}
        case _:
            return {script.chunk().decode("utf-8", "replace"): _read_condition(script, depth + 1)}


def _attempt(parse: Callable[..., T], given: object) -> T | None:
    try:
        return parse(given)
    except ValueError as exc:
        assert type(exc) is ValueError, exc  # a UnicodeError is one too, and nobody's words
        return None


def seeds() -> Iterator[bytes]:
    for text in (
        "outbox.event.{aggregatetype}",
        '{payload.customer.id}/{"Order Id"}',
        "plain",
        "a{b}c{d.0}",
        "{",
        "{}",
    ):
        yield b"\0" + text.encode()
    yield b"\x01" + b"\x02\x03a*b" + b"\x04\x02\x02\x01a\x00" + b"axb"
    yield b"\x01" + b"\x07\x04\x02\x02\x01a\x02\x01b" + b"\x06\x02\x02a*" + b"ab"
    yield b"\x01" + b"\x02\x01*" + b"\x02\x03?a*" + b"xab"
