"""JSON Schema of the YAML spelling, for editors; a projection of the models, which judge what it cannot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic.fields import FieldInfo

from cdc_relay.config.keys import Section, known_keys, section_of
from cdc_relay.config.models import RelayConfig

__all__ = ["json_schema"]


def json_schema() -> dict[str, Any]:
    schema = RelayConfig.model_json_schema(by_alias=True)
    for section in filter(None, map(section_of, _all_fields(RelayConfig))):
        _spell_defaults(schema["$defs"][section.__name__]["properties"], section)
    _tidy(schema)
    schema["properties"]["outboxes"]["minItems"] = 1
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "cdc-relay configuration"}


def _all_fields(section: Section) -> Iterator[FieldInfo]:
    for info in known_keys(section).values():
        yield info
        below = section_of(info)
        if below is not None:
            yield from _all_fields(below)


def _spell_defaults(properties: dict[str, Any], section: Section) -> None:
    """As the file spells them: 30s, not the 30.0 that the model holds."""
    spelled = section.model_construct().model_dump(by_alias=True, mode="json")
    for key, described in properties.items():
        if "default" in described:
            described["default"] = spelled[key]


def _tidy(schema: Any) -> None:
    """pydantic's made-up titles and `default: null` only clutter an editor's hints."""
    if isinstance(schema, list):
        for item in schema:
            _tidy(item)
    if isinstance(schema, dict):
        if isinstance(schema.get("title"), str):
            del schema["title"]
        if "default" in schema and schema["default"] is None:
            del schema["default"]
        _let_no_null(schema)
        _tidy(list(schema.values()))


def _let_no_null(schema: dict[str, Any]) -> None:
    """A key is left out, never given without a value: of `T | None` only T is for the file."""
    match schema.get("anyOf"):
        case [dict(kind), {"type": "null"}]:
            del schema["anyOf"]
            schema.update(kind)
