"""A route bound to the places of a relation's columns: whether it takes a row, to which topic, and the record."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, cast

from cdc_relay.model import Failure, Headers, Policy, Record, Transaction
from cdc_relay.routing import refusals
from cdc_relay.routing.conditions import holds
from cdc_relay.routing.envelopes.debezium import Debezium
from cdc_relay.routing.envelopes.envelope import Encoded, Source
from cdc_relay.routing.fields import Read, Values
from cdc_relay.routing.outbox import Outbox, Route
from cdc_relay.routing.parts import read_headers, read_partition, read_timestamp_ms
from cdc_relay.routing.places import Places
from cdc_relay.routing.templates import Template
from cdc_relay.routing.topics import is_legal_topic
from cdc_relay.routing.usual_events import make_event_build
from cdc_relay.routing.values import BYTEA_OID, read_bytea

__all__ = ["BoundRoute", "Build", "Destination"]

_new = tuple.__new__  # what Record(...) ends in: 0.1 us less per row

Build = Callable[[Values, str, Transaction, int, int], Record | Failure]  # row, topic, transaction, ordinal, time in ms


class Destination(NamedTuple):
    """A topic and how its records are built, or why there is none. Without both the row is dropped."""

    topic: str
    policy: Policy
    build: Build | None = None
    failure: Failure | None = None


class BoundRoute:
    """Judges by the values of the outbox's deciding fields: they were read from the row once."""

    def __init__(self, route: Route, outbox: Outbox, places: Places) -> None:
        deciding = {field: place for place, field in enumerate(outbox.deciding_fields)}
        self._route = route
        self._when = [(deciding[field], condition) for field, condition in route.when]
        self._topic = [deciding[field] for field in route.topic.fields]
        self._build = None if route.drop else _make_build(route, outbox, places)

    def takes(self, values: Values) -> bool:
        return all(holds(condition, values[place]) for place, condition in self._when)

    def find_destination(self, values: Values) -> Destination:
        route = self._route
        if self._build is None:
            return Destination("", route.policy)
        name = route.topic.render([values[place] for place in self._topic])
        if name is None:
            return Destination("", route.policy, failure=refusals.null_in_topic(route.topic.fields))
        topic = name.decode("utf-8", "replace")
        if not is_legal_topic(topic):
            return Destination("", route.policy, failure=refusals.illegal_topic(route.topic.fields))
        return Destination(topic, route.policy, self._build)


def _make_build(route: Route, outbox: Outbox, places: Places) -> Build:
    is_plain = route.envelope == Debezium() and not route.headers and outbox.headers_column is None
    parts = (route.key, route.partition or outbox.partition_column, route.timestamp or outbox.timestamp_column)
    if is_plain and not any(parts):
        return _PlainBuild(route, outbox, places)
    full = _FullBuild(route, outbox, places)
    return make_event_build(full, route, outbox, places) or full


class _PlainBuild:
    """Debezium's default: key and payload as they are, header `id`, the time of the commit. About 0.5 us."""

    __slots__ = ("_key_column", "_parts", "_payload_column", "_payload_is_bytea", "_policy", "columns")

    def __init__(self, route: Route, outbox: Outbox, places: Places) -> None:
        self._policy = route.policy
        self._key_column, self._payload_column = outbox.key_column, outbox.payload_column
        self._payload_is_bytea = places.column(outbox.payload_column).type_oid == BYTEA_OID
        names = [outbox.id_column, outbox.key_column, outbox.payload_column]
        self._parts = cast("Callable[[Values], Values]", places.pick(names))
        # Where these are, for whoever cuts them out of the row without our help.
        self.columns = None if self._payload_is_bytea else tuple(places.indexes[name] for name in names)

    def __call__(
        self, row: Values, topic: str, _transaction: Transaction, _ordinal: int, timestamp_ms: int
    ) -> Record | Failure:
        event_id, key, value = self._parts(row)
        policy = self._policy
        if key is None and policy.strict:
            return refusals.null_key(self._key_column, policy.route)
        if self._payload_is_bytea and value is not None:
            try:
                value = read_bytea(value)
            except ValueError:
                return refusals.bad_bytea(self._payload_column)
        headers: Headers = [("id", event_id)]
        size = 2 + len(event_id or b"") + len(key or b"") + len(value or b"")
        return _new(Record, (topic, key, value, headers, timestamp_ms, size, policy, -1))


class _FullBuild:
    """Any envelope, and whatever the route or the mapping says about key, partition, time and headers."""

    def __init__(self, route: Route, outbox: Outbox, places: Places) -> None:
        self._policy = route.policy
        self._key_template = route.key or Template.of(outbox.key_column)
        self._key = self._key_template.bind(places)
        self._encode = route.envelope.bind(outbox, places.columns)
        self._partition_template = route.partition or _of(outbox.partition_column)
        self._partition = _bind(self._partition_template, places)
        self._timestamp_template = route.timestamp or _of(outbox.timestamp_column)
        self._timestamp = _bind(self._timestamp_template, places)
        self._more_headers = _bind(_of(outbox.headers_column), places)
        self._headers_column = outbox.headers_column
        self._headers = [(name, template.bind(places)) for name, template in route.headers]
        parts = (self._timestamp, self._partition, self._more_headers)
        self._has_parts = any(part is not None for part in parts)

    def __call__(
        self, row: Values, topic: str, transaction: Transaction, ordinal: int, timestamp_ms: int
    ) -> Record | Failure:
        key = self._key(row)
        if key is None and (failure := self._judge_null_key()) is not None:
            return failure
        encoded = self._encode(row, key, Source(transaction, ordinal))
        if type(encoded) is not Encoded:
            return cast(Failure, encoded)
        value, headers = encoded
        partition = -1
        if self._has_parts:
            try:
                timestamp_ms, partition = self._read_timestamp(row, timestamp_ms), self._read_partition(row)
                headers = headers + self._read_headers(row)
            except _PartError as exc:
                return exc.failure
        if self._headers:
            headers = headers + [(name, read(row)) for name, read in self._headers]
        size = len(key or b"") + len(value or b"")
        for name, given in headers:
            size += len(name) + len(given or b"")
        return _new(Record, (topic, key, value, headers, timestamp_ms, size, self._policy, partition))

    def _judge_null_key(self) -> Failure | None:
        if self._key_template.literals != ("", ""):
            return refusals.null_in_key(self._key_template.fields)
        if self._policy.strict:
            return refusals.null_key(str(self._key_template.fields[0]), self._policy.route)
        return None

    def _read_timestamp(self, row: Values, default_ms: int) -> int:
        value = None if self._timestamp is None else self._timestamp(row)
        try:
            return default_ms if value is None else read_timestamp_ms(value)
        except ValueError:
            raise _PartError(refusals.bad_timestamp(str(self._timestamp_template))) from None

    def _read_partition(self, row: Values) -> int:
        try:
            return -1 if self._partition is None else read_partition(self._partition(row))
        except ValueError:
            raise _PartError(refusals.bad_partition(str(self._partition_template))) from None

    def _read_headers(self, row: Values) -> Headers:
        try:
            return [] if self._more_headers is None else read_headers(self._more_headers(row))
        except ValueError:
            raise _PartError(refusals.bad_headers(self._headers_column or "")) from None


class _PartError(Exception):
    """Carries the failure out of a part that could not be read."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.code)
        self.failure = failure


def _of(column: str | None) -> Template | None:
    return None if column is None else Template.of(column)


def _bind(template: Template | None, places: Places) -> Read | None:
    return None if template is None else template.bind(places)
