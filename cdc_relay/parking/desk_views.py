"""Parked records as an operator reads them: rows of a table, one record in full, figures. Pure text, safe to print."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from cdc_relay.parking.desk_bytes import bytes_of
from cdc_relay.parking.desk_queries import Figure
from cdc_relay.parking.desk_row import Listed, Named, ParkedRow
from cdc_relay.parking.desk_text import age, between, describe_payload, inline, safe, size
from cdc_relay.parking.entry import Reason, Status

__all__ = ["Sheet", "figures_json", "figures_sheet", "list_sheet", "record_text", "totals_text"]

_CHOICE = "now: cdc-relay dlq retry {id}, edit {id}, or discard {id} --reason …"
_SHOWN_CHARACTERS = 100_000  # of a payload


@dataclass(frozen=True, slots=True)
class Sheet:
    titles: Sequence[str]
    rows: list[list[str]]


def list_sheet(rows: Iterable[Listed], *, with_slot: bool) -> Sheet:
    titles = ["id", "status", "next", "topic", "key", "event", "tries", "age", "error"]
    return _with_slot(Sheet(titles, [_list_row(row) for row in rows]), [row.slot for row in rows], with_slot=with_slot)


def record_text(row: ParkedRow, *, full: bool) -> str:
    title, body = describe_payload(row.value, limit=None if full else _SHOWN_CHARACTERS)
    parts = [
        f"record {row.id}: {_standing(row)}",
        *_facts(row),
        *_error(row),
        *_listing("columns, to be routed again" if row.topic is None else "columns", row.columns or []),
        *_listing("headers", row.headers),
        title,
        *([_indent(body)] if body else []),
        *_edits(row),
        *([_CHOICE.format(id=row.id)] if row.status == Status.DEAD else []),
    ]
    return "\n".join(parts)


def figures_sheet(figures: Iterable[Figure], *, with_slot: bool) -> Sheet:
    rows = [
        [
            one.status,
            inline(one.topic or "-"),
            one.error_class or "-",
            f"{one.count:,}",
            size(one.bytes),
            age(one.oldest_seconds),
        ]
        for one in figures
    ]
    sheet = Sheet(["status", "topic", "error class", "records", "size", "oldest"], rows)
    return _with_slot(sheet, [one.slot for one in figures], with_slot=with_slot)


def totals_text(figures: Iterable[Figure]) -> str:
    """One line: how many of each status, and how old the oldest is."""
    totals = _totals(figures)
    return "; ".join(
        f"{status} {total['records']:,}, oldest {age(total['oldest_seconds'])}" for status, total in totals.items()
    )


def figures_json(figures: Iterable[Figure]) -> dict[str, object]:
    return {"statuses": _totals(figures), "groups": [asdict(one) for one in figures]}


def _totals(figures: Iterable[Figure]) -> dict[str, dict[str, float]]:
    totals: dict[str, dict[str, float]] = {}
    for one in figures:
        total = totals.setdefault(one.status, {"records": 0, "bytes": 0, "oldest_seconds": 0.0})
        total["records"] += one.count
        total["bytes"] += one.bytes
        total["oldest_seconds"] = max(total["oldest_seconds"], one.oldest_seconds)
    return totals


def _with_slot(sheet: Sheet, slots: Sequence[str], *, with_slot: bool) -> Sheet:
    if not with_slot:
        return sheet
    return Sheet(["slot", *sheet.titles], [[inline(slot), *row] for slot, row in zip(slots, sheet.rows, strict=True)])


def _list_row(row: Listed) -> list[str]:
    event = " ".join(inline(part) for part in (row.event_type, row.event_id) if part)
    error = f"{row.error_code}: {row.last_error}" if row.error_code else row.last_error
    tries = f"{row.attempts}/{row.max_attempts}"
    topic, key = inline(row.topic or "-"), inline(row.key)
    return [
        str(row.id),
        row.status,
        _next(row),
        topic,
        key,
        event or "-",
        tries,
        _ago(row.parked_at, row),
        inline(error or "-"),
    ]


def _standing(row: Listed) -> str:
    return row.status if (coming := _next(row)) == "-" else f"{row.status}, {coming}"


def _next(row: Listed) -> str:
    """What will happen to it, and when."""
    if row.is_being_published:
        return "being published"
    match Status(row.status):
        case Status.RETRYING if row.reason == Reason.TOPIC_CLOSED:
            return "waits for its topic"
        case Status.RETRYING:
            return _until(row.next_retry_at, row)
        case Status.SCHEDULED:
            return _until(row.scheduled_at, row)
        case Status.BEHIND:
            return "waits for its key"
        case Status.DEAD:
            return "to be decided"
        case _:
            return "-"


def _until(moment: str | None, row: Listed) -> str:
    seconds = between(row.read_at, moment) if moment else None
    if seconds is None:
        return "due" if moment is None else f"at {moment}"
    return f"in {age(seconds)}" if seconds > 0 else "due"


def _ago(moment: str, row: Listed) -> str:
    seconds = between(moment, row.read_at)
    return moment if seconds is None else age(seconds)


def _facts(row: Listed) -> list[str]:
    order = "strict" if row.strict else "relaxed"
    facts = {
        "slot": row.slot,
        "outbox": row.outbox,
        **_position(row),
        "route": f"{row.route}, order {order}{', holds when dead' if row.hold_dead else ''}",
        "topic": row.topic or "none: could not be routed",
        **({} if row.partition is None else {"partition": str(row.partition)}),
        "key": inline(row.key),
        "timestamp": row.record_time,
        **{name: value for name, value in _event(row).items() if value},
        "size": size(row.size_bytes),
        "reason": row.reason,
        "attempts": f"{row.attempts} of {row.max_attempts}",
        **{name: _moment(moment, row) for name, moment in _moments(row).items() if moment},
        **({"deaths": str(row.suspicion)} if row.suspicion else {}),
    }
    return [f"  {name:<15} {inline(value)}" for name, value in facts.items()]


def _position(row: Listed) -> dict[str, str]:
    if not row.xid:
        return {"position": f"message outside transactions at LSN {row.commit_lsn}"}
    place = f"record {row.ordinal} of transaction {row.xid} at LSN {row.commit_lsn}"
    return {"position": place, "committed": _moment(row.commit_time, row)}


def _event(row: Listed) -> dict[str, str | None]:
    named = {"event id": row.event_id, "event type": row.event_type}
    return named | {"correlation id": row.correlation_id, "tenant": row.tenant}


def _moments(row: Listed) -> dict[str, str | None]:
    return {
        "parked": row.parked_at,
        "first failed": row.first_failed_at,
        "last failed": row.last_error_at,
        "next retry": row.next_retry_at,
        "scheduled": row.scheduled_at,
        "claimed": row.claimed_at,
        "published": row.published_at,
        "copied": row.copied_at,
    }


def _moment(moment: str, row: Listed) -> str:
    seconds = between(moment, row.read_at)
    if seconds is None:
        return moment
    return f"{moment} ({age(seconds)} ago)" if seconds >= 0 else f"{moment} (in {age(-seconds)})"


def _error(row: Listed) -> list[str]:
    if not (row.last_error or row.error_code):
        return []
    lines = ["error", f"  {row.error_class or 'unknown class'}, {safe(row.error_code or 'no code')}"]
    lines.append(_indent(safe(row.last_error or "")))
    return lines + ([f"  what to do: {safe(row.remedy)}"] if row.remedy else [])


def _listing(title: str, parts: list[Named]) -> list[str]:
    if not parts:
        return []
    return [f"{title}: {len(parts)}", *(f"  {inline(str(part['name']))}: {inline(bytes_of(part))}" for part in parts)]


def _edits(row: ParkedRow) -> list[str]:
    if not row.edits:
        return []
    return ["edits: what was there before is in --json", *(f"  {_edit(entry)}" for entry in row.edits)]


def _edit(entry: dict[str, object]) -> str:
    before = entry.get("before")
    changed = f" ({', '.join(map(str, before))})" if entry.get("what") == "edit" and isinstance(before, dict) else ""
    reason = f": {entry['reason']}" if entry.get("reason") else ""
    known = [str(entry.get(name, "?")) for name in ("at", "by", "what")]
    shown = f"{known[0]} by {known[1]}: {known[2]}{changed}{reason}"
    return inline(shown) if set(entry) >= {"at", "by", "what"} else inline(json.dumps(entry))


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))
