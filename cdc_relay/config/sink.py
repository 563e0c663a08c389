"""Where records go, as the file spells it: exactly one sink, `sink: {kafka: {…}}`, or `sink: log` for short."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeAlias

from pydantic import ConfigDict, Field, PlainValidator, model_validator
from pydantic.config import JsonDict

from cdc_relay.config.fields import EditorSchema, KafkaProperties, Kind, fail, kind_of_value
from cdc_relay.config.section import Section

__all__ = ["SinkConfig"]

_SINKS = ("kafka", "log", "none")
_WITHOUT_OPTIONS = ("log", "none")
_NEEDED = "one sink is needed: kafka: {bootstrap.servers: host:port}, or log, or none"
_EDITOR_SCHEMA: JsonDict = {
    "type": ["object", "string"],
    "pattern": r"^(log|none|.*\$\{.*)$",
    "oneOf": [
        {"type": "string"},
        {"type": "object", "required": ["kafka"]},
        {"type": "object", "required": ["log"]},
        {"type": "object", "required": ["none"]},
    ],
}


def _no_options(value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise ValueError(f"expected {{}}, found {kind_of_value(value)}")
    fail(((name,), "unknown key; there are no options here: write {}") for name in value)
    return {}


NoOptions: TypeAlias = Annotated[
    dict[str, str],
    PlainValidator(_no_options),
    EditorSchema({"type": "object", "additionalProperties": False}),
    Kind("`{}`", default="one of the three"),
]


class SinkConfig(Section):
    """Where records go: exactly one of these; `sink: log` and `sink: none` are the same as with `{}`."""

    model_config = ConfigDict(json_schema_extra=_EDITOR_SCHEMA)

    kafka: KafkaProperties | None = Field(
        default=None,
        repr=False,
        description="librdkafka's own property names, passed through; `bootstrap.servers` is required. The relay owns "
        "the properties that its promises rest on and refuses a weaker setting (see below).",
    )
    log: NoOptions | None = Field(
        default=None,
        description="One line of JSON per record on standard output, for trying out; a record is delivered when its "
        "line is written. The relay's own log stays on standard error. `sink: log` for short.",
    )
    none: NoOptions | None = Field(
        default=None,
        description="Nowhere: every record counts as delivered and **is gone**. For load tests of what is before it. "
        "`sink: none` for short.",
    )

    @model_validator(mode="before")
    @classmethod
    def _read_short_form(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        if value not in _WITHOUT_OPTIONS:
            raise ValueError(_NEEDED)
        return {value: {}}

    @model_validator(mode="after")
    def _one_sink(self) -> SinkConfig:
        given = [name for name in _SINKS if name in self.model_fields_set]
        if not given:
            raise ValueError(_NEEDED)
        fail(((name,), "has no value; write {}") for name in given if getattr(self, name) is None)
        fail(((name,), f"sink.{given[0]} is given too; choose one of them") for name in given[1:])
        return self
