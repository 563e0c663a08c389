"""The pydantic types of a route's values: templates, conditions, headers, envelope."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import PlainSerializer, PlainValidator

from cdc_relay.config.fields import EditorSchema, Kind, fail, kind_of_value, text_of
from cdc_relay.config.route_fields import (
    parse_condition,
    parse_field,
    parse_template,
    spell_condition,
    spell_field,
    spell_template,
)
from cdc_relay.config.topics import parse_topic
from cdc_relay.routing.conditions import Condition
from cdc_relay.routing.fields import Field
from cdc_relay.routing.templates import Template

__all__ = ["HeaderTemplates", "TopicTemplate", "ValueTemplate", "When"]

_Problems = list[tuple[tuple[str | int, ...], str]]


def _topic(value: object) -> Template:
    return value if isinstance(value, Template) else parse_topic(text_of(value))


def _template(value: object) -> Template:
    return value if isinstance(value, Template) else parse_template(text_of(value))


def _when(value: object) -> dict[Field, Condition]:
    if not isinstance(value, Mapping):
        raise ValueError(f"expected a mapping of columns to values, found {kind_of_value(value)}")
    wanted: dict[Field, Condition] = {}
    problems: _Problems = []
    for name, given in value.items():
        try:
            field = parse_field(name)
            if field in wanted:
                raise ValueError("the same column as a key before it; unquoted names fold to lower case")
            wanted[field] = parse_condition(given)
        except ValueError as exc:
            problems.append(((name,), str(exc)))
    fail(problems)
    return wanted


def _headers(value: object) -> dict[str, Template]:
    if not isinstance(value, Mapping):
        raise ValueError(f"expected a mapping of header names to templates, found {kind_of_value(value)}")
    templates: dict[str, Template] = {}
    problems: _Problems = []
    for name, given in value.items():
        try:
            if "\0" in name:
                raise ValueError("a header's name cannot have NUL: clients cut it there")
            templates[name] = given if isinstance(given, Template) else parse_template(_header_text(given))
        except ValueError as exc:
            problems.append(((name,), str(exc)))
    fail(problems)
    return templates


def _header_text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected text, found {kind_of_value(value)}; put it into quotes if it is one value")
    return value


def _spell_when(wanted: dict[Field, Condition]) -> dict[str, Any]:
    return {spell_field(field): spell_condition(condition) for field, condition in wanted.items()}


_TEMPLATE_SCHEMA = EditorSchema({"type": "string", "minLength": 1})

TopicTemplate: TypeAlias = Annotated[
    Template, PlainValidator(_topic), PlainSerializer(spell_template), _TEMPLATE_SCHEMA, Kind("template")
]
ValueTemplate: TypeAlias = Annotated[
    Template, PlainValidator(_template), PlainSerializer(spell_template), _TEMPLATE_SCHEMA, Kind("template")
]
When: TypeAlias = Annotated[
    dict[Field, Condition],
    PlainValidator(_when),
    PlainSerializer(_spell_when),
    EditorSchema({"type": "object"}),
    Kind("mapping of columns to values"),
]
HeaderTemplates: TypeAlias = Annotated[
    dict[str, Template],
    PlainValidator(_headers),
    PlainSerializer(lambda given: {name: spell_template(template) for name, template in given.items()}),
    EditorSchema({"type": "object", "additionalProperties": {"type": ["string", "number"]}}),
    Kind("mapping of header names to templates"),
]
