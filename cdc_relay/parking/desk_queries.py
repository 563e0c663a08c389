"""What an operator asks of the lot: lists, one record, figures. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cdc_relay.errors import RefusedError
from cdc_relay.parking.desk import Desk
from cdc_relay.parking.desk_filter import Filter, Params
from cdc_relay.parking.desk_row import Listed, ParkedRow, selected
from cdc_relay.parking.desk_text import inline

__all__ = ["Figure", "count", "export", "figures", "find", "list_ids", "list_rows", "read"]

_TABLE = "cdc_relay.parked_records"
_LARGEST_ID = 2**63 - 1
_SHOWN_CANDIDATES = 10


@dataclass(frozen=True, slots=True)
class Figure:
    """Of the records with the same slot, status, topic and error class."""

    slot: str
    status: str
    topic: str | None
    error_class: str | None
    count: int
    bytes: int
    oldest_seconds: float


@dataclass(frozen=True, slots=True)
class _Id:
    id: int


@dataclass(frozen=True, slots=True)
class _Count:
    status: str
    count: int


def list_rows(desk: Desk, wanted: Filter, *, limit: int) -> list[Listed]:
    """Newest first."""
    where, params = wanted.where()
    query = f"SELECT {selected(Listed)} FROM {_TABLE} WHERE {where} ORDER BY id DESC LIMIT %(limit)s"
    return desk.rows(Listed, query, params | {"limit": limit})


def list_ids(desk: Desk, wanted: Filter) -> list[int]:
    where, params = wanted.where()
    return [row.id for row in desk.rows(_Id, f"SELECT id FROM {_TABLE} WHERE {where} ORDER BY id", params)]


def count(desk: Desk, wanted: Filter) -> dict[str, int]:
    """By status."""
    where, params = wanted.where()
    query = f"SELECT status, count(*) AS count FROM {_TABLE} WHERE {where} GROUP BY status ORDER BY status"
    return {row.status: row.count for row in desk.rows(_Count, query, params)}


def find(desk: Desk, name: str) -> int:
    """The number of the record that is meant: its own, or else the event id of exactly one record of this slot."""
    params: Params = {"slot": desk.slot, "id": _as_number(name), "name": name.replace("\0", "")}
    if desk.rows(_Id, f"SELECT id FROM {_TABLE} WHERE slot = %(slot)s AND id = %(id)s", params):
        return int(name)
    found = desk.rows(_Id, f"SELECT id FROM {_TABLE} WHERE slot = %(slot)s AND event_id = %(name)s ORDER BY id", params)
    if len(found) != 1:
        raise _not_one(desk, name, [row.id for row in found])
    return found[0].id


def read(desk: Desk, record_id: int, *, lock: bool = False) -> ParkedRow:
    query = f"SELECT {selected(ParkedRow)} FROM {_TABLE} WHERE slot = %(slot)s AND id = %(id)s"
    found = desk.rows(ParkedRow, query + (" FOR UPDATE" if lock else ""), {"slot": desk.slot, "id": record_id})
    if not found:
        raise _not_one(desk, str(record_id), [])
    return found[0]


def export(desk: Desk, wanted: Filter) -> Iterator[ParkedRow]:
    where, params = wanted.where()
    return desk.stream(ParkedRow, f"SELECT {selected(ParkedRow)} FROM {_TABLE} WHERE {where} ORDER BY id", params)


def figures(desk: Desk, *, all_slots: bool) -> list[Figure]:
    where, params = Filter(slot=None if all_slots else desk.slot).where()
    query = f"""
        SELECT slot, status, topic, error_class, count(*) AS count, sum(size_bytes)::bigint AS bytes,
               extract(epoch FROM now() - min(parked_at))::float8 AS oldest_seconds
          FROM {_TABLE} WHERE {where} GROUP BY 1, 2, 3, 4 ORDER BY slot, status, topic, error_class"""
    return desk.rows(Figure, query, params)


def _as_number(name: str) -> int | None:
    is_number = name.isascii() and name.isdigit() and int(name[:20]) <= _LARGEST_ID and len(name) <= 19
    return int(name) if is_number else None


def _not_one(desk: Desk, name: str, candidates: list[int]) -> RefusedError:
    if not candidates:
        return RefusedError(
            f"there is no record {inline(name)} in the lot of slot {desk.slot}, nor one with this event id",
            remedy="cdc-relay dlq list --status all shows what there is",
        )
    shown = ", ".join(map(str, candidates[:_SHOWN_CANDIDATES]))
    more = ", …" if len(candidates) > _SHOWN_CANDIDATES else ""
    return RefusedError(
        f"{len(candidates)} records have the event id {inline(name)}: {shown}{more}",
        remedy="say which by its number; cdc-relay dlq show NUMBER tells them apart",
    )
