"""Where the fields of a route are in the rows of one relation. Bound once; a JSON column is parsed once per row."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter

from cdc_relay.protocol.messages import Column
from cdc_relay.routing.fields import Field, Read, Values
from cdc_relay.routing.json_text import BadJsonError, read_paths

__all__ = ["Places", "pick"]


class Places:
    def __init__(self, columns: tuple[Column, ...]) -> None:
        self.columns = columns
        self.indexes = {column.name: index for index, column in enumerate(columns)}
        self._documents: dict[str, _Document] = {}

    def column(self, name: str) -> Column:
        return self.columns[self.indexes[name]]

    def pick(self, names: list[str]) -> Callable[[Values], object]:
        return pick([self.indexes[name] for name in names])

    def reader(self, field: Field) -> Read:
        """What a row has there, as Postgres prints it; None for NULL, and where JSON has nothing at that place."""
        index = self.indexes[field.column]
        if not field.path:
            return itemgetter(index)
        return self._documents.setdefault(field.column, _Document(index)).reader(field.path)


class _Document:
    """All that is asked of one JSON column. The latest row's is remembered, for several fields look at each."""

    def __init__(self, index: int) -> None:
        self._index = index
        self._paths: list[tuple[str, ...]] = []
        self._value: bytes | None = None
        self._found: Values = ()

    def reader(self, path: tuple[str, ...]) -> Read:
        if path not in self._paths:
            self._paths.append(path)
            self._value = None  # was read without it
        place = self._paths.index(path)

        def read(row: Values) -> bytes | None:
            value = row[self._index]
            if value is None:
                return None
            if value is not self._value:
                self._found, self._value = self._read(value), value
            return self._found[place]

        return read

    def _read(self, value: bytes) -> Values:
        try:
            return read_paths(value, self._paths)
        except BadJsonError:
            return (None,) * len(self._paths)


def pick(indexes: list[int]) -> Callable[[Values], object]:
    """The values at some places of a row, picked in C. One alone is itself, and an empty slice is () for every row."""
    return itemgetter(*indexes) if indexes else itemgetter(slice(0))
