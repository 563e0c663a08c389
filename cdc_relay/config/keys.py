"""Which keys the models know, under their YAML spelling, and what to say about one they do not. Judges no value."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from cdc_relay.config.document import Document, Value
from cdc_relay.config.problems import KeyPath

__all__ = ["Section", "keep_known_keys", "known_keys", "name_hint", "names_its_items", "section_of"]

Section = type[BaseModel]
_HINTED = 50  # as many as are shown


def known_keys(section: Section) -> dict[str, FieldInfo]:
    return {info.serialization_alias or name: info for name, info in section.model_fields.items()}


def section_of(info: FieldInfo) -> Section | None:
    """The model below this key: of the key itself, or of the items of its list or mapping."""
    kind = info.annotation
    if get_origin(kind) in (tuple, dict):
        kind = get_args(kind)[0 if get_origin(kind) is tuple else 1]
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def names_its_items(info: FieldInfo) -> bool:
    """Below this key stand names that the file chooses, each with a section."""
    return get_origin(info.annotation) is dict


def keep_known_keys(document: Document, value: Value, section: Section, path: KeyPath = ()) -> Value:
    """Unknown keys are reported and left out, so that the rest can be validated in the same go."""
    if isinstance(value, list):
        return [keep_known_keys(document, item, section, (*path, place)) for place, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    keys = known_keys(section)
    for key in (key for key in value if key not in keys):
        nearest = _report(document, (*path, key), keys)
        document.excused.add(path)  # what the section lacks as a whole may be the key that was misspelt
        if nearest and nearest not in value:
            document.excused.add((*path, nearest))
    return {key: _descend(document, below, keys[key], (*path, key)) for key, below in value.items() if key in keys}


def _descend(document: Document, value: Value, info: FieldInfo, path: KeyPath) -> Value:
    below = section_of(info)
    if below is None:
        return value
    if names_its_items(info) and isinstance(value, dict):
        return {name: keep_known_keys(document, item, below, (*path, name)) for name, item in value.items()}
    return keep_known_keys(document, value, below, path)


def name_hint(name: str, known: Iterable[str]) -> tuple[str | None, str]:
    """The known name that is nearest, if one is near, and what to say to whoever wrote another."""
    nearest = next(iter(difflib.get_close_matches(name, known, n=1)), None)
    return nearest, f"did you mean {nearest!r}?" if nearest else f"known here: {', '.join(known)}"


def _report(document: Document, path: KeyPath, known: Iterable[str]) -> str | None:
    if len(document.problems) >= _HINTED:
        document.report(path, "unknown key")
        return None
    nearest, hint = name_hint(str(path[-1]), known)
    document.report(path, f"unknown key; {hint}")
    return nearest
