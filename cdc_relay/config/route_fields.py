"""Fields, templates and conditions as the file spells them: columns are SQL identifiers, the rest is plain text."""

from __future__ import annotations

import re
from collections.abc import Mapping

from cdc_relay.config.names import parse_identifier, quote_identifier
from cdc_relay.errors import ConfigError
from cdc_relay.routing.conditions import Condition, Exact, Glob, IsNull, Not, OneOf
from cdc_relay.routing.fields import Field
from cdc_relay.routing.templates import Template

__all__ = [
    "parse_condition",
    "parse_field",
    "parse_template",
    "spell_condition",
    "spell_field",
    "spell_template",
]

_FIELD = re.compile(r'("(?:[^"]|"")*"|[^".]+)((?:\.[^."]+)*)')
_WORDS = ("not", "exact")
_ATTRIBUTE = re.compile(r"__\w+__")  # of a Python object


def parse_field(text: str) -> Field:
    match = _FIELD.fullmatch(text.strip())
    if match is None:
        raise ValueError("expected a column, or a place in a JSON column such as payload.customer.id")
    return Field(parse_identifier(match[1]), tuple(match[2].split(".")[1:]))


def spell_field(field: Field) -> str:
    return ".".join((quote_identifier(field.column), *field.path))


def parse_template(text: str) -> Template:
    try:
        template = Template.parse(text, parse_field)
    except ConfigError:
        raise ValueError("every '{' needs a column name and a '}', such as outbox.event.{aggregatetype}") from None
    if any(_ATTRIBUTE.fullmatch(step) for field in template.fields for step in field.path):
        raise ValueError("a template reads columns and places in JSON, and no attributes such as __class__")
    return template


def spell_template(template: Template) -> str:
    return template.spell(spell_field)


def parse_condition(value: object) -> Condition:
    """`order`, `order-*`, `[a, b]`, `null` for NULL, `{not: …}`, and `{exact: …}` for a text with a star in it."""
    if value is None:
        return IsNull()
    if isinstance(value, str):
        return Glob(value) if "*" in value or "?" in value else Exact(value.encode())
    if isinstance(value, list):
        if not value:
            raise ValueError("an empty list matches nothing; name at least one value")
        return OneOf(tuple(parse_condition(each) for each in value))
    if isinstance(value, Mapping):
        return _parse_words(value)
    raise ValueError(
        "expected a text; put it into quotes: a boolean column is 't' or 'f', as Postgres prints it, and a boolean in"
        " JSON or in a message 'true' or 'false'"
    )


def _parse_words(value: Mapping[str, object]) -> Condition:
    if len(value) != 1 or next(iter(value)) not in _WORDS:
        raise ValueError("expected one key, not or exact, such as {not: internal}")
    word, given = next(iter(value.items()))
    if word == "not":
        return Not(parse_condition(given))
    if not isinstance(given, str):
        raise ValueError("exact: expected one text")
    return Exact(given.encode())


def spell_condition(condition: Condition) -> object:
    """As the file may have it."""
    match condition:
        case Exact(value):
            text = value.decode()
            return {"exact": text} if "*" in text or "?" in text else text
        case IsNull():
            return None
        case Glob(pattern):
            return pattern
        case OneOf(conditions):
            return [spell_condition(each) for each in conditions]
        case Not(denied):
            return {"not": spell_condition(denied)}
