"""YAML text to plain values plus the place of every key: no substitution, no models, no objects but our own.

Numbers stay the text that was written (`sasl.password: 0123` is not 83); only yes/no values are told apart.
Aliases are refused: a few lines of them expand to gigabytes, and a configuration this small needs none. So are depth
and length that no configuration has.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from cdc_relay.config.problems import KeyPath, Problem
from cdc_relay.config.sound_yaml import SoundLoader

__all__ = ["Document", "Value", "is_text", "parse_document"]

Value = str | bool | None | list["Value"] | dict[str, "Value"]

_DEEPEST = 32
_MOST_VALUES = 100_000  # ten thousand routes and more
_CONDITIONS = "when"  # below this key a null that was written out is a value: it asks for NULL
_TAG = "tag:yaml.org,2002:"
_PLAIN_TAGS = {_TAG + name for name in ("str", "int", "float", "bool", "null", "timestamp", "map", "seq", "value")}
_KEY_TAGS = _PLAIN_TAGS | {_TAG + "merge"}  # <<, which is no key of ours, and is said to be unknown
_NO_TAGS = "tags (!…) are refused; only plain values, lists and mappings are read"


class _RefusedError(Exception):
    """Legal YAML that we do not take, found before there is a path to name."""

    def __init__(self, text: str, event: yaml.Event) -> None:
        super().__init__(text)
        mark = event.start_mark
        self.problem = Problem(mark.line + 1, mark.column + 1, (), text) if mark else Problem(1, 1, (), text)


class _Loader(SoundLoader):
    """Composes nodes only; counts them, and depth because composing recurses."""

    _depth = 0
    _count = 0

    def compose_node(self, parent: Node | None, index: int) -> Node | None:
        event: yaml.Event = self.peek_event()  # type: ignore[no-untyped-call]  # the stubs leave it bare
        if isinstance(event, yaml.AliasEvent):
            raise _RefusedError("aliases (*name) are refused; write it out", event)
        if self._depth >= _DEEPEST:
            raise _RefusedError(f"nested deeper than {_DEEPEST} levels", event)
        if self._count >= _MOST_VALUES:
            raise _RefusedError(
                f"more than {_MOST_VALUES} keys and values; that is no configuration of cdc-relay", event
            )
        self._depth += 1
        self._count += 1
        node: Node | None = super().compose_node(parent, index)
        self._depth -= 1
        return node


@dataclass(slots=True)
class Document:
    """Plain values, where each key stands (line, column), and what was wrong already."""

    root: Value = None
    places: dict[KeyPath, tuple[int, int]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    excused: set[KeyPath] = field(default_factory=set)  # missing, but the misspelt key was reported
    _troubled: set[KeyPath] = field(default_factory=set)  # the paths of the problems

    def report(self, path: KeyPath, text: str) -> None:
        self.add(Problem(*self.place(path), path, text))

    def add(self, problem: Problem) -> None:
        self.problems.append(problem)
        self._troubled.add(problem.path)

    def place(self, path: KeyPath) -> tuple[int, int]:
        """Of the key itself, or of the nearest key above it when it is missing."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, (1, 1))

    def reported(self, path: KeyPath) -> bool:
        above = (path[:length] for length in range(len(path) + 1))
        return path in self.excused or any(each in self._troubled for each in above)


def parse_document(text: str) -> Document:
    """Bad YAML is a document with one problem and no root."""
    document = Document()
    try:
        node = yaml.compose(text, Loader=_Loader)
    except _RefusedError as exc:
        document.add(exc.problem)
    except yaml.MarkedYAMLError as exc:
        document.add(_syntax_problem(exc))
    except yaml.reader.ReaderError as exc:
        line = text.count("\n", 0, exc.position) + 1
        document.add(Problem(line, 1, (), "not YAML: a control character, which YAML does not allow"))
    else:
        _read_root(document, node)
    return document


def _syntax_problem(exc: yaml.MarkedYAMLError) -> Problem:
    mark = exc.problem_mark or exc.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    return Problem(line, column, (), f"not YAML at column {column}: {exc.problem or exc.context}")


def _read_root(document: Document, node: Node | None) -> None:
    if isinstance(node, MappingNode):
        document.root = _read(document, node, ())
    elif node is None:
        document.report((), "empty; it needs at least source, sink and outboxes")
    else:
        document.report((), "expected a mapping with the keys source, sink and outboxes")


def _read(document: Document, node: Node, path: KeyPath) -> Value:
    document.places.setdefault(path, (node.start_mark.line + 1, node.start_mark.column + 1))
    if node.tag not in _PLAIN_TAGS:
        document.report(path, _NO_TAGS)
        return None
    match node:
        case MappingNode():
            return _read_mapping(document, node, path)
        case SequenceNode():
            return [_read(document, item, (*path, place)) for place, item in enumerate(node.value)]
        case ScalarNode():
            return _read_scalar(document, node, path)
        case _:
            raise TypeError(f"a node that YAML does not have: {type(node).__name__}")


def _read_mapping(document: Document, node: MappingNode, path: KeyPath) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for key, value in node.value:
        line, column = key.start_mark.line + 1, key.start_mark.column + 1
        if not isinstance(key, ScalarNode):
            document.add(Problem(line, column, (*path, "?"), "a key must be one word, not a list or a mapping"))
        elif key.tag not in _KEY_TAGS:
            document.add(Problem(line, column, (*path, "?"), _NO_TAGS))
        elif not is_text(key.value):
            document.add(Problem(line, column, (*path, key.value), "is not valid UTF-8 text"))
        elif key.value in values:
            first = document.places[(*path, key.value)][0]
            text = f"given twice, first on line {first}; remove one"
            document.add(Problem(line, column, (*path, key.value), text))
        else:
            document.places[(*path, key.value)] = (line, column)
            values[key.value] = _read(document, value, (*path, key.value))
    return values


def is_text(text: str) -> bool:
    """An escape can write half a surrogate pair, which nothing can print or send."""
    return text.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in text)


def _read_scalar(document: Document, node: ScalarNode, path: KeyPath) -> Value:
    if node.tag == _TAG + "null":
        if not node.value or _CONDITIONS not in path:
            document.report(path, "has no value; give it one, or remove the key")
        return None
    if node.tag == _TAG + "bool":
        return yaml.SafeLoader.bool_values.get(node.value.lower(), node.value)
    return str(node.value)
