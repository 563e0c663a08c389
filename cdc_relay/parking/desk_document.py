"""The text in which a record is edited: a little YAML, a line of dashes, and the payload as it is. Pure.

Not all of it is YAML, because a payload must survive an editor without quoting and indentation.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import yaml
from yaml.composer import ComposerError
from yaml.nodes import Node

from cdc_relay.config.sound_yaml import SoundLoader
from cdc_relay.errors import ConfigError
from cdc_relay.parking.desk_bytes import bytes_of, decode, encode, is_text
from cdc_relay.parking.desk_json import explain_json, flatten, is_json, pretty
from cdc_relay.parking.desk_lines import check_named
from cdc_relay.parking.desk_row import Content, Named, ParkedRow
from cdc_relay.routing.topics import is_legal_topic

__all__ = ["read_document", "write_document"]

_HEAD = """\
# Record {id} of slot {slot}, {status}. Save it to change the record; left as it is, nothing is done.
# Below the line of dashes is the payload, up to the end. In place of both: payload: null, or {{base64: …}}.
# key: text, null or {{base64: …}}. headers: in order, each with name and value (text or null) or base64.
"""
_UNROUTED = """\
# It could not be routed, and a retry routes it again from its columns: correct them and leave topic null.
# Or give it topic, key, headers and payload: then it goes out like that, and the columns are not used any more.
"""
_DASHES = re.compile(r"^---[ \t]*(?:\n|\Z)", re.MULTILINE)
_KEYS = ("topic", "key", "headers", "columns", "payload")


class _Loader(SoundLoader):
    """Only null is not text: an order number must not become a number, nor a country a boolean.

    Aliases are refused: with them a few lines are a text of gigabytes, or one that contains itself.
    """

    def compose_node(self, parent: Node | None, index: int) -> Node | None:
        mark: Any = self.peek_event().start_mark  # type: ignore[no-untyped-call]  # the stubs leave it bare
        if self.check_event(yaml.AliasEvent):
            raise ComposerError(None, None, "aliases (*name) are refused; write it out", mark)
        node: Node | None = super().compose_node(parent, index)
        return node


_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("null", "str", "seq", "map")}
_Loader.yaml_constructors = {
    tag: construct for tag, construct in yaml.SafeLoader.yaml_constructors.items() if tag is None or tag in _TAGS
}
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag == "tag:yaml.org,2002:null"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def write_document(row: ParkedRow) -> str:
    front: dict[str, object] = {"topic": row.topic, "key": _shown(row.key), "headers": _shown_all(row.headers)}
    head = _HEAD.format(id=row.id, slot=row.slot, status=row.status)
    if (columns := _to_route(row)) is not None:
        front["columns"] = _shown_all(columns)
        head += _UNROUTED
    body = _body(row.value)
    if body is None:
        return head + _dump(front | {"payload": _shown(row.value)})
    return f"{head}{_dump(front)}---\n{body}\n"


def read_document(text: str, row: ParkedRow, *, force: bool = False) -> Content:
    """What the record is to be; ConfigError where that makes no sense, or breaks JSON and is not forced to."""
    front, body = _split(text.replace("\r\n", "\n"))
    try:
        content = _content(front, body, row)
    except UnicodeError:
        raise _wrong("it has characters that are not UTF-8") from None
    except ValueError as exc:
        raise _wrong(str(exc)) from None
    _check_routing(content, row)
    if not force:
        _check_payload(content.value, row.value)
    return content


def _split(text: str) -> tuple[Mapping[object, object], str | None]:
    dashes = _DASHES.search(text)
    head, body = (text[: dashes.start()], text[dashes.end() :]) if dashes else (text, None)
    try:
        front = yaml.load(head, Loader=_Loader)  # a SafeLoader that knows even less
    except yaml.YAMLError as exc:
        mark = getattr(exc, "problem_mark", None)
        where = f"line {mark.line + 1}" if mark else "somewhere"
        raise _wrong(f"it cannot be read as YAML: {where}: {getattr(exc, 'problem', None) or 'a character'}") from None
    except RecursionError:
        raise _wrong("it is nested too deeply") from None
    if not isinstance(front, dict):
        raise _wrong("it has to begin with topic, key and headers")
    return front, body if body is None else body.removesuffix("\n")


def _content(front: Mapping[object, object], body: str | None, row: ParkedRow) -> Content:
    _check_keys(front, body, row)
    value = decode(front["payload"]) if body is None else body.encode()
    headers = _same_or(row.headers, _named(front["headers"]))
    content = Content(_topic(front["topic"]), decode(front["key"]), headers, _kept(value, row.value), None)
    if row.topic is not None:
        return replace(content, columns=row.columns)
    if row.columns is None or content.topic is not None:
        return content
    return replace(content, columns=_same_or(row.columns, _named(front["columns"], with_type=True)))


def _to_route(row: ParkedRow) -> list[Named] | None:
    """The columns that a retry routes it from; one that has its topic is not routed again."""
    return row.columns if row.topic is None else None


def _same_or(before: list[Named], after: list[Named]) -> list[Named]:
    """The document may spell the same bytes in another way."""
    spellings = [
        [(part["name"], bytes_of(part), part.get("type"), part.get("modifier")) for part in parts]
        for parts in (before, after)
    ]
    return before if spellings[0] == spellings[1] else after


def _check_keys(front: Mapping[object, object], body: str | None, row: ParkedRow) -> None:
    wanted = [
        key for key in _KEYS if (key != "columns" or _to_route(row) is not None) and (key != "payload" or body is None)
    ]
    if missing := [key for key in wanted if key not in front]:
        raise ValueError(f"it lacks {', '.join(missing)}")
    if "payload" in front and body is not None:
        raise ValueError("it has a payload above the dashes and one below")
    if len(front) > len(wanted):
        raise ValueError(f"it may have {', '.join(wanted)} only")


def _topic(topic: object) -> str | None:
    if topic is None:
        return None
    if not isinstance(topic, str) or not is_legal_topic(topic):
        raise ValueError("Kafka does not allow this topic name: letters, digits, '.', '_' and '-', 249 at most")
    return topic


def _named(parts: object, *, with_type: bool = False) -> list[Named]:
    what = "columns" if with_type else "headers"
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise ValueError(f"{what}: expected a list of entries with name and value")
    try:
        if with_type and len({str(part.get("name")) for part in parts}) < len(parts):
            raise ValueError("a name is there twice")
        return [_one_named(part, with_type=with_type) for part in parts]
    except UnicodeError:
        raise
    except ValueError as exc:
        raise ValueError(f"{what}: {exc}") from None


def _one_named(part: Mapping[str, object], *, with_type: bool) -> Named:
    numbers = {key: _number(part[key]) for key in ("type", "modifier") if with_type and key in part}
    named = check_named({**part, **numbers}, with_type=with_type)
    value = named.get("value")
    if "\0" in str(named["name"]):
        raise ValueError("a name cannot have NUL")
    if not isinstance(value, str) or "\0" not in value:
        return named
    del named["value"]  # jsonb cannot hold NUL
    return named | {"base64": base64.b64encode(value.encode()).decode()}


def _number(value: object) -> object:
    """The loader leaves digits as text."""
    return int(value) if isinstance(value, str) and value.isdecimal() else value


def _kept(value: bytes | None, before: bytes | None) -> bytes | None:
    """JSON was laid out for the editor: back on one line, and the very bytes of before if nothing else changed."""
    if value is None or before is None or not (_is_json(value) and _is_json(before)):
        return value
    flat = flatten(value.decode())
    return before if flat == flatten(before.decode()) else flat.encode()


def _check_routing(content: Content, row: ParkedRow) -> None:
    if content.topic is None and _to_route(row) is None:
        raise _wrong("it has no topic")
    before, ignored = row.content, (content.key, content.headers, content.value)
    if content.topic is None and ignored != (before.key, before.headers, before.value):
        raise _wrong("without a topic it is routed again from its columns, and what was changed would be ignored")


def _check_payload(value: bytes | None, before: bytes | None) -> None:
    if before is None or value == before or not _is_json(before):
        return
    why = "it is not text" if value is None or not is_text(value) else explain_json(value.decode())
    if why is not None:
        raise ConfigError(
            f"the payload was JSON and would be no more: {why}", remedy="correct it; or --force, if that is meant"
        )


def _is_json(data: bytes) -> bool:
    return is_text(data) and is_json(data.decode())


def _body(value: bytes | None) -> str | None:
    """None: no editor would leave it as it is."""
    if value is None or not is_text(value):
        return None
    text = value.decode()
    text = pretty(text) if is_json(text) else text
    return text if all(char.isprintable() or char in "\n\t" for char in text) else None


def _shown(data: bytes | None) -> object:
    shown = encode(data)
    if data is None or not isinstance(shown, str) or shown.isprintable():
        return shown
    return {"base64": base64.b64encode(data).decode()}


def _shown_all(parts: list[Named]) -> list[Named]:
    return [_shown_named(part) for part in parts]


def _shown_named(part: Named) -> Named:
    value = part.get("value")
    if not isinstance(value, str) or value.isprintable():
        return part
    packed = {"base64": base64.b64encode(value.encode()).decode()}
    return {key: shown for key, shown in part.items() if key != "value"} | packed


def _dump(front: dict[str, object]) -> str:
    def dump(*, allow_unicode: bool) -> str:
        text: str = yaml.safe_dump(front, sort_keys=False, allow_unicode=allow_unicode, width=1 << 20)
        return text

    text = dump(allow_unicode=True)
    return text if all(line.isprintable() for line in text.split("\n")) else dump(allow_unicode=False)


def _wrong(problem: str) -> ConfigError:
    return ConfigError(f"the edited record makes no sense: {problem}", remedy="cdc-relay dlq edit ID --print shows one")
