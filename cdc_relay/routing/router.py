"""Which outbox a relation is, and how its rows become records. Compiled once per relation, then only looked up.

This version has one route, Debezium's default: topic `outbox.event.{aggregatetype}`, key, payload, header `id`.
"""

from __future__ import annotations

import re
from binascii import unhexlify
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from cdc_relay.model import Failure, Headers, Record
from cdc_relay.protocol.messages import Relation
from cdc_relay.routing.templates import Template

__all__ = ["DEFAULT_TOPIC", "Outbox", "Plan", "Router", "Values"]

DEFAULT_TOPIC = Template.parse("outbox.event.{aggregatetype}")

_LEGAL_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_BYTEA_OID = 17
_TOPIC_CACHE_LIMIT = 10_000

Values = tuple[bytes | None, ...]  # an inserted row: every column is there


@dataclass(frozen=True, slots=True)
class Outbox:
    """A configured outbox table and the columns that carry the parts of an event."""

    schema: str
    name: str
    label: str  # the table as SQL writes it, for messages
    id_column: str
    key_column: str
    type_column: str
    payload_column: str

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that the route needs, each once."""
        mapped = (self.id_column, self.key_column, self.type_column, self.payload_column)
        return tuple(dict.fromkeys(mapped + DEFAULT_TOPIC.columns))


class Router:
    """From relations to plans; a relation that is no configured outbox has none."""

    def __init__(self, outboxes: Iterable[Outbox]) -> None:
        self._outboxes: Mapping[tuple[str, str], Outbox] = {(box.schema, box.name): box for box in outboxes}

    def plan(self, relation: Relation) -> Plan | None:
        outbox = self._outboxes.get((relation.namespace, relation.name))
        return None if outbox is None else Plan(outbox, relation)


class Plan:
    """One outbox's rows, as one relation message describes them. `route` is the hot path: about 2 us."""

    __slots__ = (
        "_id_index",
        "_key_index",
        "_missing",
        "_payload_index",
        "_read_payload",
        "_topics",
        "column_count",
        "outbox",
    )

    def __init__(self, outbox: Outbox, relation: Relation) -> None:
        self.outbox = outbox
        self.column_count = len(relation.columns)
        indexes = {column.name: index for index, column in enumerate(relation.columns)}
        self._missing = tuple(name for name in outbox.columns if name not in indexes)
        self._id_index = indexes.get(outbox.id_column, 0)
        self._key_index = indexes.get(outbox.key_column, 0)
        self._payload_index = indexes.get(outbox.payload_column, 0)
        self._read_payload: Callable[[bytes], bytes] | None = None
        if not self._missing and relation.columns[self._payload_index].type_oid == _BYTEA_OID:
            self._read_payload = _read_bytea
        self._topics = _TopicCache(DEFAULT_TOPIC, [indexes.get(name, 0) for name in DEFAULT_TOPIC.columns])

    def route(self, row: Values, timestamp_ms: int) -> Record | Failure:
        if self._missing:
            return self._missing_columns()
        topic = self._topics.find(row)
        if isinstance(topic, Failure):
            return topic
        event_id, key, value = row[self._id_index], row[self._key_index], row[self._payload_index]
        if value is not None and self._read_payload is not None:
            value = self._read_payload(value)
        headers: Headers = [("id", event_id)]
        size = 2 + len(event_id or b"") + len(key or b"") + len(value or b"")
        return Record(topic, key, value, headers, timestamp_ms, size, event_id)

    def event_id(self, row: Values) -> bytes | None:
        return None if self.outbox.id_column in self._missing else row[self._id_index]

    def _missing_columns(self) -> Failure:
        names = ", ".join(self._missing)
        return Failure(
            "missing_column",
            f"{self.outbox.label} has no column {names} in the stream",
            f"add the column to the table (and to the publication's column list), or map another one under"
            f" outboxes[].columns: {names}",
            True,
        )


class _TopicCache:
    """Topic names by the column values they are made of: rendered and judged once for each."""

    __slots__ = ("_cache", "_index", "_indexes", "_template")

    def __init__(self, template: Template, indexes: list[int]) -> None:
        self._template = template
        self._indexes = indexes
        self._index = indexes[0]
        self._cache: dict[bytes | None, str | Failure] = {}

    def find(self, row: Values) -> str | Failure:
        value = row[self._index]
        topic = self._cache.get(value)
        if topic is None:
            if len(self._cache) >= _TOPIC_CACHE_LIMIT:
                self._cache.clear()
            topic = self._cache[value] = self._judge([row[index] for index in self._indexes])
        return topic

    def _judge(self, values: list[bytes | None]) -> str | Failure:
        columns = ", ".join(self._template.columns)
        topic = self._template.render(values)
        if topic is None:
            return Failure(
                "null_in_topic",
                f"column {columns} is NULL and names the topic",
                f"let the writer give {columns} a value",
                True,
            )
        if not _LEGAL_TOPIC.fullmatch(topic) or topic in (".", ".."):
            return Failure(
                "illegal_topic",
                f"column {columns} makes a topic name that Kafka does not allow",
                "let the writer use letters, digits, '.', '_' and '-' only, 249 characters at most",
                True,
            )
        return topic


def _read_bytea(text: bytes) -> bytes:
    """bytea_output=hex is pinned for the session, so the value is `\\x` and hexadecimal digits."""
    return unhexlify(text[2:])
