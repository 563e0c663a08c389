"""The pydantic types of single values: how each is read, ranged, spelled, and described to editors and readers.

Holds no key and no default (models.py has them). Messages never carry the value: it may be a secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import BeforeValidator, GetJsonSchemaHandler, PlainSerializer, PlainValidator, SecretStr, ValidationError
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError

from cdc_relay.config import units
from cdc_relay.config.address import check_address
from cdc_relay.config.dsn import HIDDEN, check_dsn
from cdc_relay.config.kafka_properties import find_conflicts, normalise
from cdc_relay.config.names import TableName, parse_identifier, parse_table, quote_identifier
from cdc_relay.config.topics import check_topic

__all__ = [
    "Bytes",
    "Column",
    "Count",
    "Dsn",
    "EditorSchema",
    "Flag",
    "KafkaProperties",
    "Kind",
    "Listen",
    "OnDead",
    "Ordering",
    "Preset",
    "Publication",
    "RouteName",
    "Seconds",
    "Secret",
    "Service",
    "Share",
    "SlotName",
    "Table",
    "Topic",
    "Within",
    "fail",
    "kind_of_value",
    "one_of",
    "text_of",
]

_SLOT = re.compile(r"[a-z0-9_]{1,63}")
_SERVICE = re.compile(r"[A-Za-z0-9._/-]{1,100}")
_REFERENCE = r".*\$\{.*"  # what holds a ${VARIABLE} cannot be judged by an editor
_T = TypeVar("_T", int, float)


@dataclass(frozen=True, slots=True)
class Kind:
    """What the reference calls this type, the units it is written in, and its default where None would not tell."""

    name: str
    unit: str = ""
    default: str = ""


@dataclass(frozen=True, slots=True, eq=False)  # hashed by identity, which `T | None` asks for
class EditorSchema:
    """Like pydantic's WithJsonSchema, which in 2.8 and 2.9 hands one dict to all keys of a type to write into."""

    schema: dict[str, Any]

    def __get_pydantic_json_schema__(self, _core: CoreSchema, _handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return dict(self.schema)


@dataclass(frozen=True, slots=True)
class Within:
    """An inclusive range, kept as an object so that the reference can print it."""

    lowest: float
    highest: float
    spell: Callable[..., str]

    def __call__(self, value: _T) -> _T:
        if not self.lowest <= value <= self.highest:
            raise ValueError(f"must be between {self}")
        return value

    def __str__(self) -> str:
        return f"{self.spell(self.lowest)} and {self.spell(self.highest)}"


def fail(found: Iterable[tuple[tuple[str | int, ...], str]]) -> None:
    """Raise all that was found at once, each at its own place below the value being validated."""
    errors = [InitErrorDetails(type=_failure(text), loc=location, input=None) for location, text in found]
    if errors:
        raise ValidationError.from_exception_data("configuration", errors)


def kind_of_value(value: object) -> str:
    names = {str: "text", bool: "a yes/no value", dict: "a mapping", list: "a list", type(None): "nothing"}
    return names.get(type(value), "a number")


def _failure(text: str) -> PydanticCustomError:
    return PydanticCustomError("relay", "{text}", {"text": text})


def text_of(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected text, found {kind_of_value(value)}; put it into quotes if it is one value")
    if not value:
        raise ValueError("must not be empty")
    return value


def _secret(value: object) -> object:
    return value if value is None or isinstance(value, SecretStr) else text_of(value)


def _hide(value: SecretStr | None) -> str | None:
    return None if value is None else HIDDEN


def _slot(value: object) -> str:
    if not _SLOT.fullmatch(text_of(value)):
        raise ValueError("Postgres allows 1 to 63 of a-z, 0-9 and _ in the name of a slot")
    return text_of(value)


def _service(value: object) -> str:
    if not _SERVICE.fullmatch(text_of(value)):
        raise ValueError("expected 1 to 100 letters, digits and . _ / -")
    return text_of(value)


def _table(value: object) -> TableName:
    return value if isinstance(value, TableName) else parse_table(text_of(value))


def _kafka(value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise ValueError(f"expected a mapping of librdkafka's properties, found {kind_of_value(value)}")
    properties: dict[str, str] = {}
    problems: list[tuple[tuple[str | int, ...], str]] = []
    for name, given in value.items():
        try:
            properties[name] = normalise(given)
        except ValueError as exc:
            problems.append(((name,), str(exc)))
    problems += (
        ((name,), text) for name, text in find_conflicts(properties) if name not in value or name in properties
    )
    fail(problems)
    return properties


def one_of(*words: str) -> BeforeValidator:
    """Before pydantic's own judge of a Literal, whose message quotes the input."""
    expected = f"expected {', '.join(words[:-1])} or {words[-1]}"

    def check(value: object) -> object:
        if value not in words:
            raise ValueError(expected)
        return value

    return BeforeValidator(check)


def _json(pattern: str, *types: str) -> EditorSchema:
    return EditorSchema({"type": list(types) or "string", "pattern": f"^({pattern}|{_REFERENCE})$"})


_TEXT_SCHEMA = EditorSchema({"type": "string", "minLength": 1})

Seconds: TypeAlias = Annotated[
    float,
    BeforeValidator(units.parse_duration),
    PlainSerializer(units.format_duration),
    _json(units.DURATION_PATTERN),
    Kind("duration", "ms, s, m, h, d"),
]
Bytes: TypeAlias = Annotated[
    int,
    BeforeValidator(units.parse_size),
    PlainSerializer(units.format_size),
    _json(units.SIZE_PATTERN, "string", "integer"),
    Kind("size", "bytes, KiB, MiB, GiB"),
]
Count: TypeAlias = Annotated[
    int,
    BeforeValidator(units.parse_count),
    _json(units.COUNT_PATTERN, "integer", "string"),
    Kind("whole number"),
]
Share: TypeAlias = Annotated[
    float,
    BeforeValidator(units.parse_share),
    _json(units.SHARE_PATTERN, "number", "string"),
    Kind("share"),
]
Preset: TypeAlias = Annotated[
    Literal["standard", "aggressive"],
    one_of("standard", "aggressive"),
    _json("standard|aggressive"),
    Kind("standard or aggressive"),
]
Ordering: TypeAlias = Annotated[
    Literal["relaxed", "strict"], one_of("relaxed", "strict"), _json("relaxed|strict"), Kind("relaxed or strict")
]
OnDead: TypeAlias = Annotated[
    Literal["continue", "hold"], one_of("continue", "hold"), _json("continue|hold"), Kind("continue or hold")
]
Flag: TypeAlias = Annotated[bool, Kind("yes or no")]
RouteName: TypeAlias = Annotated[str, PlainValidator(text_of), _TEXT_SCHEMA, Kind("text")]
Topic: TypeAlias = Annotated[
    str, PlainValidator(lambda value: check_topic(text_of(value))), _json("[A-Za-z0-9._-]{1,249}"), Kind("topic name")
]
Dsn: TypeAlias = Annotated[
    str, PlainValidator(lambda value: check_dsn(text_of(value))), _TEXT_SCHEMA, Kind("connection string")
]
Secret: TypeAlias = Annotated[
    SecretStr | None, BeforeValidator(_secret), PlainSerializer(_hide), _TEXT_SCHEMA, Kind("secret text")
]
Service: TypeAlias = Annotated[str, PlainValidator(_service), _json("[A-Za-z0-9._/-]{1,100}"), Kind("name")]
SlotName: TypeAlias = Annotated[str, PlainValidator(_slot), _json("[a-z0-9_]{1,63}"), Kind("slot name")]
Publication: TypeAlias = Annotated[
    str,
    PlainValidator(lambda value: parse_identifier(text_of(value))),
    PlainSerializer(quote_identifier),
    _TEXT_SCHEMA,
    Kind("SQL identifier"),
]
Column: TypeAlias = Publication
Table: TypeAlias = Annotated[TableName, PlainValidator(_table), PlainSerializer(str), _TEXT_SCHEMA, Kind("SQL table")]
Listen: TypeAlias = Annotated[
    str,
    PlainValidator(check_address),
    EditorSchema({"type": ["string", "boolean"], "not": {"const": True}}),
    Kind("host:port or off"),
]
KafkaProperties: TypeAlias = Annotated[
    dict[str, str],
    PlainValidator(_kafka),
    EditorSchema({"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}}),
    Kind("mapping of librdkafka properties", default="one of the three"),
]
