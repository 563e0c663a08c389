"""JSON Schema of the YAML spelling, for editors; a projection of the models, which judge what it cannot."""

from __future__ import annotations

from typing import Any

from cdc_relay.config.models import RelayConfig

__all__ = ["json_schema"]


def json_schema() -> dict[str, Any]:
    # "serialization" gives the defaults as the file spells them: 30s, not 30.0.
    schema = RelayConfig.model_json_schema(by_alias=True, mode="serialization")
    _tidy(schema)
    schema["properties"]["outboxes"]["minItems"] = 1
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "cdc-relay configuration"}


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
        _tidy(list(schema.values()))
