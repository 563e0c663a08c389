"""What a row would become, as text or JSON for an operator. Publishes nothing, asks no server."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

from cdc_relay.admin.sample_rows import Sample
from cdc_relay.config.route_fields import spell_condition
from cdc_relay.model import Dropped, Record, Scheduled, Transaction, Unroutable
from cdc_relay.parking.desk_bytes import encode
from cdc_relay.parking.desk_text import describe_payload, inline, safe
from cdc_relay.routing.conditions import Condition
from cdc_relay.routing.explain import Explanation, Miss, explain_message, explain_row
from cdc_relay.routing.outbox import Outbox

__all__ = ["dry_run", "dry_run_json", "dry_run_text"]


def dry_run(outbox: Outbox, sample: Sample) -> Explanation:
    """Committed now, at no position: a real row has those of its transaction."""
    transaction = Transaction(commit_lsn=0, commit_time_us=time.time_ns() // 1000, xid=0)
    if outbox.message_prefix is None:
        return explain_row(outbox, *sample, transaction)
    return explain_message(outbox, sample.row[0] or b"", transaction)


def dry_run_text(outbox: Outbox, sample: Sample, explanation: Explanation) -> str:
    return "\n".join([_title(outbox, sample), *_why(explanation), *_what(explanation.outcome)])


def dry_run_json(outbox: Outbox, explanation: Explanation) -> dict[str, object]:
    outcome = explanation.outcome
    record = outcome.record if isinstance(outcome, Scheduled) else outcome
    shown: dict[str, object] = {
        "outbox": outbox.label,
        "route": explanation.route,
        "misses": [_miss_json(miss) for miss in explanation.misses],
        "outcome": _outcome_word(outcome),
    }
    if isinstance(record, Record):
        shown |= _record_json(record)
    if isinstance(outcome, Scheduled):
        shown["scheduled_at"] = outcome.scheduled_at
    if isinstance(outcome, Unroutable):
        shown |= {"code": outcome.failure.code, "reason": outcome.failure.reason, "remedy": outcome.failure.remedy}
    return shown


def _title(outbox: Outbox, sample: Sample) -> str:
    if outbox.message_prefix is not None:
        return outbox.label
    names = [column.name for column in sample.columns]
    value = sample.row[names.index(outbox.id_column)] if outbox.id_column in names else None
    return f"{outbox.label}, {outbox.id_column} {inline(value)}"


def _why(explanation: Explanation) -> Iterator[str]:
    for miss in explanation.misses:
        yield f"  not {miss.route}: {miss.field} is {inline(miss.found)}, wanted {_wanted(miss.wanted)}"
    if explanation.route is not None:
        yield f"  route {explanation.route}"


def _what(outcome: Record | Scheduled | Unroutable | Dropped) -> Iterator[str]:
    match outcome:
        case Record():
            yield from _record_lines(outcome)
        case Scheduled(record, scheduled_at):
            yield f"  waits in the lot until {scheduled_at}"
            yield from _record_lines(record)
        case Unroutable(failure=failure):
            yield f"  parked: {failure.reason}"
            yield f"  what to do: {failure.remedy}"
        case _:
            yield "  dropped: nothing is published"


def _record_lines(record: Record) -> Iterator[str]:
    title, body = describe_payload(record.value, limit=None)
    yield f"  topic      {record.topic}"
    yield f"  partition  {'left to the partitioner' if record.partition < 0 else record.partition}"
    yield f"  key        {inline(record.key)}"
    yield f"  time       {record.timestamp_ms} ms since 1970"
    for name, value in record.headers:
        yield f"  header     {inline(name)}: {inline(value)}"
    yield f"  value      {title.removeprefix('payload: ')}"
    yield from (f"    {line}" for line in body.splitlines())


def _record_json(record: Record) -> dict[str, object]:
    return {
        "topic": record.topic,
        "partition": None if record.partition < 0 else record.partition,
        "key": encode(record.key),
        "timestamp_ms": record.timestamp_ms,
        "headers": [[name, encode(value)] for name, value in record.headers],
        "value": encode(record.value),
    }


def _miss_json(miss: Miss) -> dict[str, object]:
    wanted = spell_condition(miss.wanted)
    return {"route": miss.route, "field": str(miss.field), "found": encode(miss.found), "wanted": wanted}


def _wanted(condition: Condition) -> str:
    shown = spell_condition(condition)
    if shown is None:
        return "NULL"
    return safe(shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False))


def _outcome_word(outcome: Record | Scheduled | Unroutable | Dropped) -> str:
    words = {Record: "published", Scheduled: "scheduled", Unroutable: "parked"}
    return words.get(type(outcome), "dropped")
