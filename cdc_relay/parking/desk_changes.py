"""What an operator does to the lot: retry, discard, cancel, edit. Each transaction has its NOTIFY.

Rows are locked and judged again before they are changed: the relay may have been faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from psycopg.types.json import Json, Jsonb

from cdc_relay.errors import RefusedError
from cdc_relay.parking.desk import Desk
from cdc_relay.parking.desk_bytes import encode, size_of
from cdc_relay.parking.desk_filter import Params
from cdc_relay.parking.desk_queries import read
from cdc_relay.parking.desk_row import Content, ParkedRow, selected
from cdc_relay.parking.desk_rules import Deed, Refusal, Standing, judge

__all__ = ["Done", "carry_out", "edit", "insist"]

_BATCH = 5_000  # rows per transaction: the relay wants to lock them too
_ENTRY = """edits || jsonb_strip_nulls(jsonb_build_object(
    'at', now(), 'by', session_user, 'what', %(what)s::text, 'reason', %(reason)s::text,
    'before', jsonb_build_object('status', status, 'attempts', attempts)))"""
_CHANGES = {
    # fresh tries: neither attempts nor deaths of before count
    Deed.RETRY: "status = 'retrying', reason = 'failure', next_retry_at = now(), attempts = 0, suspicion = 0",
    Deed.DISCARD: "status = 'discarded', next_retry_at = NULL",
    Deed.CANCEL: "status = 'cancelled', next_retry_at = NULL",
}
# An abandoned claim is given back as the relay does it (one of a dead record is for a copy, which is no attempt).
# A record that got another topic waits for its own no longer, and is in no partition of it.
_EDIT = """UPDATE cdc_relay.parked_records SET
    topic = %(topic)s, key = %(key)s, value = %(value)s, headers = %(headers)s, columns = %(columns)s,
    size_bytes = %(size_bytes)s,
    partition = CASE WHEN topic IS DISTINCT FROM %(topic)s THEN NULL ELSE partition END,
    reason = CASE WHEN reason = 'topic_closed' AND topic IS DISTINCT FROM %(topic)s THEN 'failure' ELSE reason END,
    next_retry_at = CASE WHEN status = 'retrying' AND (claimed_at IS NOT NULL AND reason = 'failure'
        OR reason = 'topic_closed' AND topic IS DISTINCT FROM %(topic)s) THEN now() ELSE next_retry_at END,
    attempts = attempts - (claimed_at IS NOT NULL AND status <> 'dead' AND attempts > 0)::int, claimed_at = NULL,
    edits = edits || jsonb_build_object(
        'at', now(), 'by', session_user, 'what', 'edit', 'before', %(before)s::jsonb)
    WHERE id = %(id)s"""


@dataclass(frozen=True, slots=True)
class Done:
    done: list[int]
    refused: list[Refusal]


@dataclass(frozen=True, slots=True)
class _Locked:
    """As little as a decision needs: there may be a hundred thousand."""

    id: int
    status: str
    reason: str
    scheduled_at: str | None
    is_being_published: bool


_LOCK = f"""SELECT {selected(_Locked)} FROM cdc_relay.parked_records
    WHERE slot = %(slot)s AND id = ANY (%(ids)s) ORDER BY id FOR UPDATE"""


def carry_out(desk: Desk, deed: Deed, ids: Sequence[int], *, reason: str | None = None) -> Done:
    """What may be done is done; what may not is left as it is, and said."""
    all_done = Done([], [])
    for start in range(0, len(ids), _BATCH):
        with desk.change():
            rows = desk.rows(_Locked, _LOCK, {"slot": desk.slot, "ids": list(ids[start : start + _BATCH])})
            refused = [refusal for row in rows if (refusal := judge(deed, row)) is not None]
            done = sorted({row.id for row in rows} - {refusal.id for refusal in refused})
            _apply(desk, deed, done, reason)
        all_done.done.extend(done)
        all_done.refused.extend(refused)
    return all_done


def edit(desk: Desk, before: ParkedRow, after: Content, *, retry: bool) -> None:
    """`before` is what the operator saw: if it is not that any more, nothing is done."""
    with desk.change():
        row = read(desk, before.id, lock=True)
        insist(Deed.EDIT, row)
        if row.content != before.content:
            raise RefusedError(f"record {row.id} was changed by somebody else meanwhile", remedy="edit it again")
        if after != row.content:
            desk.execute(_EDIT, _edit_params(row, after))
        if retry:
            insist(Deed.RETRY, read(desk, row.id))
            _apply(desk, Deed.RETRY, [row.id], None)


def _apply(desk: Desk, deed: Deed, ids: list[int], reason: str | None) -> None:
    query = f"""UPDATE cdc_relay.parked_records SET {_CHANGES[deed]}, claimed_at = NULL, edits = {_ENTRY}
        WHERE slot = %(slot)s AND id = ANY (%(ids)s)"""
    desk.execute(query, {"slot": desk.slot, "ids": ids, "what": str(deed), "reason": reason})


def insist(deed: Deed, row: Standing) -> None:
    """RefusedError where it may not be done."""
    refusal = judge(deed, row)
    if refusal is not None:
        raise RefusedError(f"record {refusal.id} {refusal.why}", remedy=refusal.remedy)


def _edit_params(row: ParkedRow, after: Content) -> Params:
    return {
        "id": row.id,
        "topic": after.topic,
        "key": after.key,
        "value": after.value,
        "headers": Jsonb(after.headers),
        "columns": None if after.columns is None else Json(after.columns),
        "size_bytes": size_of(after),
        "before": Jsonb(_replaced(row, after)),
    }


def _replaced(row: ParkedRow, after: Content) -> dict[str, object]:
    """What the edit takes away, and nothing that it leaves: a payload need not be kept for a new topic."""
    before = row.content
    shown = {field.name: getattr(before, field.name) for field in fields(Content)}
    changed = {name: value for name, value in shown.items() if value != getattr(after, name)}
    if row.partition is not None and "topic" in changed:
        changed["partition"] = row.partition
    return {name: encode(value) if isinstance(value, bytes) else value for name, value in changed.items()}
