"""Parts of a row as JSON text, bound to their places, for the envelopes that are JSON. Knows no envelope."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TypeVar

from cdc_relay.model import Failure, Transaction
from cdc_relay.protocol.messages import Column
from cdc_relay.routing import refusals
from cdc_relay.routing.fields import Values
from cdc_relay.routing.json_text import quote
from cdc_relay.routing.values import compile_value

__all__ = ["Member", "bind_text", "bind_value", "per_transaction", "place", "refuse", "text_or_null"]

T = TypeVar("T")

Member = Callable[[Values], str]  # ValueError: the row's value cannot be said in JSON


def place(columns: tuple[Column, ...], name: str) -> int:
    return next(index for index, column in enumerate(columns) if column.name == name)


def text_or_null(value: bytes | None) -> str:
    return "null" if value is None else quote(value.decode())


def bind_text(columns: tuple[Column, ...], name: str | None) -> Member:
    """A string whatever the column's type: for identifiers. What is not mapped is null."""
    if name is None:
        return _null
    index = place(columns, name)
    return lambda row: text_or_null(row[index])


def bind_value(columns: tuple[Column, ...], name: str | None) -> Member:
    """What the column's type says."""
    if name is None:
        return _null
    index = place(columns, name)
    render = compile_value(columns[index].type_oid)
    return lambda row: render(row[index])


def refuse(row: Values, members: Mapping[str, Member]) -> Failure:
    """The failure of the column that cannot be said in JSON; without one it was the key."""
    for name, member in members.items():
        try:
            member(row)
        except ValueError:
            return refusals.bad_value(name)
    return refusals.bad_key()


def per_transaction(make: Callable[[Transaction], T]) -> Callable[[Transaction], T]:
    """What all rows of a transaction share, made once: they come one after the other."""
    return lru_cache(maxsize=1)(make)  # a Transaction is hashed by identity; 0.07 us for a row like the last


def _null(row: Values) -> str:
    return "null"
