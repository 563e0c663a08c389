"""A part of the document to its model: unknown keys and wrong values are reported together, each at its place."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, ValidationError

from cdc_relay.config.document import Document, Value
from cdc_relay.config.keys import keep_known_keys
from cdc_relay.config.problems import KeyPath, translate

__all__ = ["validate"]

_Section = TypeVar("_Section", bound=BaseModel)


def validate(document: Document, value: Value, section: type[_Section], path: KeyPath = ()) -> _Section | None:
    """None if values are wrong. Unknown keys are left out: whether there are problems, the document tells."""
    known = keep_known_keys(document, value, section, path)
    try:
        return section.model_validate(known)
    except ValidationError as exc:
        found = [((*path, *below), text) for below, text in translate(exc)]
    for place, text in [each for each in found if not document.reported(each[0])]:
        document.report(place, text)
    return None
