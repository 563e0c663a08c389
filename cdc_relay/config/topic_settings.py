"""How topics should be, as the file spells it: once for all of them, and topic by topic. Asks no broker.

What is left out is left alone: of a topic that is there it is not compared, and a new one gets the broker's default.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, PlainValidator, model_validator

from cdc_relay.config.fields import Count, EditorSchema, Kind, Within, fail, kind_of_value, one_of
from cdc_relay.config.kafka_properties import normalise
from cdc_relay.config.section import Section
from cdc_relay.config.units import DURATION_PATTERN, format_count, format_duration, parse_duration

__all__ = ["TopicConfig", "TopicSettings", "find_topic_problems", "settings_of"]

_MIN_IN_SYNC = "min.insync.replicas"

_Problem = tuple[tuple[str | int, ...], str]
_FOREVER = "forever"
_LONGEST_SECONDS = 36_500 * 86_400.0  # a hundred years; Kafka counts milliseconds in 64 bits
_COMPRESSIONS = ("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd")
_SHORT = {"retention.ms": "retention", "compression.type": "compression", _MIN_IN_SYNC: "min_insync_replicas"}
_NO_PROPERTY = {
    "partitions": "partitions",
    "num.partitions": "partitions",
    "replication.factor": "replication_factor",
    "default.replication.factor": "replication_factor",
}


def _parse_retention(value: object) -> float:
    if value in (_FOREVER, math.inf):
        return math.inf
    try:
        seconds = parse_duration(value)
    except ValueError:
        raise ValueError("expected a duration with its unit, such as 12h or 30d, or forever") from None
    if seconds > _LONGEST_SECONDS:
        raise ValueError(f"longer than {format_duration(_LONGEST_SECONDS)}; write forever")
    return seconds


def _format_retention(seconds: float) -> str:
    return _FOREVER if seconds == math.inf else format_duration(seconds)


def _properties(value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise ValueError(f"expected a mapping of Kafka's topic properties, found {kind_of_value(value)}")
    properties: dict[str, str] = {}
    problems: list[_Problem] = []
    for name, given in value.items():
        try:
            properties[_property_name(name)] = normalise(given)
        except ValueError as exc:
            problems.append(((name,), str(exc)))
    fail(problems)
    return properties


def _property_name(name: str) -> str:
    if name in _NO_PROPERTY:
        raise ValueError(f"not a property of a topic; write {_NO_PROPERTY[name]}: beside properties:")
    return name


_Retention: TypeAlias = Annotated[
    float,
    BeforeValidator(_parse_retention),
    AfterValidator(Within(1.0, math.inf, _format_retention)),
    PlainSerializer(_format_retention),
    EditorSchema({"type": "string", "pattern": rf"^({DURATION_PATTERN}|{_FOREVER}|.*\$\{{.*)$"}),
    Kind("duration or forever", "ms, s, m, h, d"),
]
_Compression: TypeAlias = Annotated[
    Literal["producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"],
    one_of(*_COMPRESSIONS),
    EditorSchema({"type": "string", "pattern": rf"^({'|'.join(_COMPRESSIONS)}|.*\$\{{.*)$"}),
    Kind(", ".join(_COMPRESSIONS)),
]
_Properties: TypeAlias = Annotated[
    dict[str, str],
    PlainValidator(_properties),
    EditorSchema({"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}}),
    Kind("mapping of topic properties"),
]


class TopicConfig(Section):
    """How a topic should be, for `cdc-relay topics`. What a topic leaves out is as under topic_defaults."""

    partitions: Annotated[Count, AfterValidator(Within(1, 100_000, format_count))] | None = Field(
        default=None,
        description="Partitions. More can be added later, and move keys to other partitions; fewer need a new topic. "
        "Left out: the broker's num.partitions, of a new topic only.",
    )
    replication_factor: Annotated[Count, AfterValidator(Within(1, 1000, format_count))] | None = Field(
        default=None,
        description="Copies of each partition; `topics apply` does not change it later. Left out: the broker's "
        "default.replication.factor, of a new topic only.",
    )
    min_insync_replicas: Annotated[Count, AfterValidator(Within(1, 1000, format_count))] | None = Field(
        default=None,
        description="min.insync.replicas: how many copies must have a record before it is acknowledged. At most "
        "replication_factor; one less lets a broker be away.",
    )
    retention_seconds: _Retention | None = Field(
        default=None,
        validation_alias="retention",
        serialization_alias="retention",
        description="retention.ms: how long the topic keeps records, or `forever`.",
    )
    compression: _Compression | None = Field(
        default=None,
        description="compression.type: what the broker stores; `producer` keeps what sink.kafka sends, the others make "
        "the broker compress again what came otherwise.",
    )
    properties: _Properties = Field(
        default_factory=dict,
        description="Any other property of a topic, under Kafka's own name, such as `max.message.bytes: 2097152`. "
        "Those that are not named are left alone.",
    )

    @model_validator(mode="after")
    def _each_property_once(self) -> TopicConfig:
        twice = self._given().keys() & self.properties.keys()
        fail((("properties", name), f"another name of {_SHORT[name]}; remove one of the two") for name in twice)
        return self

    @property
    def all_properties(self) -> dict[str, str]:
        """Those of `properties` and those with a key of their own, under Kafka's names."""
        return self._given() | self.properties

    def _given(self) -> dict[str, str]:
        given = {
            "retention.ms": _milliseconds(self.retention_seconds),
            "compression.type": self.compression,
            _MIN_IN_SYNC: None if self.min_insync_replicas is None else str(self.min_insync_replicas),
        }
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """What the file says of one topic, all in all; None and absent properties are left alone."""

    partitions: int | None
    replication_factor: int | None
    properties: Mapping[str, str]


def settings_of(topic: TopicConfig, defaults: TopicConfig) -> TopicSettings:
    return TopicSettings(
        partitions=topic.partitions or defaults.partitions,
        replication_factor=topic.replication_factor or defaults.replication_factor,
        properties=defaults.all_properties | topic.all_properties,
    )


def find_topic_problems(topics: Mapping[str, TopicConfig], defaults: TopicConfig) -> Iterator[_Problem]:
    """A conflict of the defaults with themselves is said there, and not again for each topic that has it from them."""
    of_defaults = _min_in_sync_problem(settings_of(TopicConfig(), defaults))
    if of_defaults and defaults.replication_factor is not None:
        yield ("topic_defaults",), of_defaults
    for name, topic in topics.items():
        problem = _min_in_sync_problem(settings_of(topic, defaults))
        if problem and (problem != of_defaults or defaults.replication_factor is None):
            yield ("topics", name), problem


def _min_in_sync_problem(settings: TopicSettings) -> str:
    wanted = settings.properties.get(_MIN_IN_SYNC, "")
    if not wanted.isdecimal() or int(wanted) < 2:
        return ""
    if settings.replication_factor is None:
        return f"min_insync_replicas {wanted} needs replication_factor: the broker's default may be lower"
    if int(wanted) > settings.replication_factor:
        return f"min_insync_replicas {wanted} is more than replication_factor {settings.replication_factor}"
    return ""


def _milliseconds(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return "-1" if seconds == math.inf else str(round(seconds * 1000))
