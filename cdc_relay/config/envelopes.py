"""Envelopes as the file spells them: a name, or a name with options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import PlainSerializer, PlainValidator

from cdc_relay.config.document import Document, Value
from cdc_relay.config.fields import Column, EditorSchema, Flag, Kind, RouteName, fail, one_of
from cdc_relay.config.keys import name_hint
from cdc_relay.config.names import quote_identifier
from cdc_relay.config.section import Section
from cdc_relay.config.validation import validate
from cdc_relay.routing.envelopes.cloudevents import CloudEvents
from cdc_relay.routing.envelopes.debezium import Debezium, PlacedField
from cdc_relay.routing.envelopes.envelope import Envelope
from cdc_relay.routing.envelopes.native import Native
from cdc_relay.routing.envelopes.raw import Raw

__all__ = ["EnvelopeChoice", "parse_envelope", "spell_envelope"]

_Options = TypeVar("_Options", bound=Section)
_NAMES = "debezium, cloudevents, native or raw"


class _PlacedConfig(Section):
    column: Column
    placement: Annotated[Literal["header", "envelope"], one_of("header", "envelope")] = "header"
    alias: RouteName | None = None


class _DebeziumConfig(Section):
    expand_json: Flag = False
    tombstone_on_empty: Flag = False
    fields: tuple[_PlacedConfig, ...] = ()

    def build(self) -> Envelope:
        placed = (PlacedField(each.column, each.placement, each.alias or each.column) for each in self.fields)
        return Debezium(self.expand_json, tuple(placed), self.tombstone_on_empty)


class _CloudEventsConfig(Section):
    mode: Annotated[Literal["binary", "structured"], one_of("binary", "structured")] = "binary"
    source: RouteName | None = None
    subject: Column | None = None
    content_type: RouteName | None = None

    def build(self) -> Envelope:
        return CloudEvents(self.mode, self.source, self.subject, self.content_type)


def _plain(envelope: Envelope, name: str) -> Callable[[object], Envelope]:
    text = f"there are no options here: write envelope: {name}"

    def build(options: object) -> Envelope:
        if isinstance(options, Mapping):
            fail(((name, option), f"unknown key; {text}") for option in options)
        elif options is not None:
            fail([((name,), text)])
        return envelope

    return build


def _build_debezium(options: object) -> Envelope:
    return _validate(_DebeziumConfig, options, "debezium").build()


def _build_cloudevents(options: object) -> Envelope:
    """`{cloudevents: structured}` is short for its mode."""
    given = {"mode": options} if isinstance(options, str) else options
    return _validate(_CloudEventsConfig, given, "cloudevents").build()


_BUILDERS: dict[str, Callable[[object], Envelope]] = {
    "debezium": _build_debezium,
    "cloudevents": _build_cloudevents,
    "native": _plain(Native(), "native"),
    "raw": _plain(Raw(), "raw"),
}


def parse_envelope(value: object) -> Envelope:
    if isinstance(value, Debezium | CloudEvents | Native | Raw):
        return value
    if isinstance(value, str):
        return _builder(value)({})
    if isinstance(value, Mapping) and len(value) == 1:
        name, options = next(iter(value.items()))
        return _builder(name)(options)
    raise ValueError(f"expected {_NAMES}, or one of them with options such as {{cloudevents: structured}}")


def _builder(name: str) -> Callable[[object], Envelope]:
    if name not in _BUILDERS:
        raise ValueError(f"unknown envelope; {name_hint(name, _BUILDERS)[1]}")
    return _BUILDERS[name]


def spell_envelope(envelope: Envelope) -> object:
    match envelope:
        case Debezium():
            return _spell("debezium", _debezium_options(envelope))
        case CloudEvents(mode, source, subject, content_type):
            column = None if subject is None else quote_identifier(subject)
            given = {"source": source, "subject": column, "content_type": content_type}
            said = {option: value for option, value in given.items() if value is not None}
            return _spell("cloudevents", said | ({"mode": mode} if mode != "binary" else {}))
        case Native():
            return "native"
        case _:
            return "raw"


def _debezium_options(envelope: Debezium) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if envelope.expand_json:
        options["expand_json"] = True
    if envelope.tombstone_on_empty:
        options["tombstone_on_empty"] = True
    if envelope.fields:
        options["fields"] = [
            {"column": quote_identifier(each.column), "placement": each.placement, "alias": each.alias}
            for each in envelope.fields
        ]
    return options


def _spell(name: str, options: dict[str, Any]) -> object:
    return {name: options} if options else name


def _validate(section: type[_Options], options: object, name: str) -> _Options:
    """The problems are raised, for the file's own document to place them."""
    document = Document()
    built = validate(document, cast("Value", options), section, (name,))
    fail((problem.path, problem.text) for problem in document.problems)
    assert built is not None, "what is not built has its problem"
    return built


EnvelopeChoice = Annotated[
    Envelope,
    PlainValidator(parse_envelope),
    PlainSerializer(spell_envelope),
    EditorSchema({"type": ["string", "object"]}),
    Kind(_NAMES),
]
