"""Domains as the types they are made of: a column's meaning is its base type's.

pgoutput describes a column by the domain's own oid. Before that comes a Type message with this oid and, however many
domains lie between, the name of the base type.
"""

from __future__ import annotations

from collections.abc import Mapping

from cdc_relay.protocol.messages import Column, Relation, Type
from cdc_relay.routing.arrays import ELEMENT_OIDS

__all__ = ["Domains"]

_NAMES: Mapping[int, str] = {
    16: "bool",
    17: "bytea",
    18: "char",
    19: "name",
    20: "int8",
    21: "int2",
    23: "int4",
    25: "text",
    26: "oid",
    114: "json",
    700: "float4",
    701: "float8",
    1042: "bpchar",
    1043: "varchar",
    1082: "date",
    1083: "time",
    1114: "timestamp",
    1184: "timestamptz",
    1186: "interval",
    1266: "timetz",
    1700: "numeric",
    2950: "uuid",
    3802: "jsonb",
}
_ARRAY_NAMES = {oid: f"_{_NAMES[element_oid]}" for oid, element_oid in ELEMENT_OIDS.items()}
_OIDS = {name: oid for oid, name in {**_NAMES, **_ARRAY_NAMES}.items()}


class Domains:
    """What one stream has said about the types of its columns."""

    def __init__(self) -> None:
        self._base_oids: dict[int, int] = {}

    def learn(self, message: Type) -> None:
        """A type of the user's own, or one that no envelope treats in its own way, stays what it is."""
        if not message.namespace and message.name in _OIDS:
            self._base_oids[message.type_id] = _OIDS[message.name]

    def resolve(self, relation: Relation) -> Relation:
        return relation._replace(columns=tuple(self._resolve(column) for column in relation.columns))

    def _resolve(self, column: Column) -> Column:
        return column._replace(type_oid=self._base_oids.get(column.type_oid, column.type_oid))
