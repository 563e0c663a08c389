"""Which keys the models know, under their YAML spelling, and what to say about one they do not. Judges no value."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from cdc_relay.config.document import Document, Value
from cdc_relay.config.planned import explain_planned
from cdc_relay.config.problems import KeyPath

__all__ = ["Section", "keep_known_keys", "known_keys", "section_of"]

Section = type[BaseModel]


def known_keys(section: Section) -> dict[str, FieldInfo]:
    return {info.serialization_alias or name: info for name, info in section.model_fields.items()}


def section_of(info: FieldInfo) -> Section | None:
    """The model below this key: of the key itself, or of the items of its list."""
    kind = get_args(info.annotation)[0] if get_origin(info.annotation) is tuple else info.annotation
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def keep_known_keys(document: Document, value: Value, section: Section, path: KeyPath = ()) -> Value:
    """Unknown keys are reported and left out, so that the rest can be validated in the same go."""
    if isinstance(value, list):
        return [keep_known_keys(document, item, section, (*path, place)) for place, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    keys = known_keys(section)
    for key in value.keys() - keys.keys():
        nearest = _report(document, (*path, key), keys)
        if nearest and nearest not in value:
            document.excused.add((*path, nearest))
    return {key: _descend(document, below, keys[key], (*path, key)) for key, below in value.items() if key in keys}


def _descend(document: Document, value: Value, info: FieldInfo, path: KeyPath) -> Value:
    below = section_of(info)
    return keep_known_keys(document, value, below, path) if below else value


def _report(document: Document, path: KeyPath, known: Iterable[str]) -> str | None:
    nearest = next(iter(difflib.get_close_matches(str(path[-1]), known, n=1)), None)
    hint = f"did you mean {nearest!r}?" if nearest else f"known here: {', '.join(known)}"
    document.report(path, explain_planned(path) or f"unknown key; {hint}")
    return nearest
