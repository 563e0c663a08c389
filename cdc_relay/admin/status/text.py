"""A Report as people read it: titled lines, and one line for a log. Pure text, safe to print."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from datetime import UTC, datetime

from cdc_relay.admin.status.advice import judge
from cdc_relay.admin.status.report import DeadError, Error, Gap, Lag, Parked, Postgres, Reader, Relay, Report, Slot
from cdc_relay.parking.desk_text import age, inline, safe, size

__all__ = ["lag_text", "log_line", "report_lines", "report_text"]

Line = tuple[str, str]  # a title, empty where it is the same as above, and what it is about

_WIDTH = 9
_SHOWN_ERRORS = 5


def report_text(report: Report) -> str:
    return "\n".join(f"{title:<{_WIDTH}} {text}" for title, text in (*report_lines(report), _verdict(report)))


def report_lines(report: Report) -> list[Line]:
    """All but the verdict."""
    lines: list[Line] = []
    for title, texts in _sections(report):
        lines += [(title if number == 0 else "", text) for number, text in enumerate(texts)]
    return lines


def log_line(report: Report) -> str:
    """One line per look, for an output that is no terminal."""
    relay = report.relay
    parts = [
        report.looked_at,
        "relay silent" if relay is None else relay.state,
        *([] if relay is None else [_rate(relay), f"in flight {relay.open_records:,}"]),
        f"lag {lag_text(report.lag)}",
        "parked ?" if report.parked is None else f"parked {report.parked_count():,}",
        judge(report).text,
    ]
    return "  ".join(parts)


def lag_text(lag: Lag) -> str:
    behind = "unknown" if lag.bytes is None else size(lag.bytes)
    if lag.seconds is None:
        return f"{behind}, seconds unknown"
    seconds = f"{lag.seconds:.1f} s" if lag.seconds < 60 else age(lag.seconds)
    return f"{behind}, {'at most ' if lag.at_most else ''}{seconds}"


def _sections(report: Report) -> Iterator[tuple[str, list[str]]]:
    yield "slot", list(_slot_texts(report))
    yield "relay", list(_relay_texts(report))
    yield "parked", list(_parked_texts(report))
    yield "topics", list(_topic_texts(report))
    yield "errors", _error_texts(report)
    yield "gaps", [_gap_text(gap) for gap in report.gaps or ()]
    yield "unread", list(_trouble_texts(report))


def _verdict(report: Report) -> Line:
    return "verdict", judge(report).text


# -- slot


def _slot_texts(report: Report) -> Iterator[str]:
    slot = report.slot
    if slot is None or report.postgres is None:
        yield f"{report.slot_name}: " + ("does not exist" if report.postgres else "unknown")
        return
    yield f"{report.slot_name}: {_reading(slot)}"
    yield f"confirmed {slot.confirmed_lsn or '-'}, restart {slot.restart_lsn or '-'}, WAL status {_wal_status(slot)}"
    yield f"lag {lag_text(report.lag)}"
    yield f"WAL kept {'-' if slot.kept_bytes is None else size(slot.kept_bytes)}, {_headroom(slot, report.postgres)}"


def _reading(slot: Slot) -> str:
    if slot.reader is not None:
        return f"read by {_reader_text(slot.reader)}"
    if slot.active:
        return "read"
    return "read by nobody" + ("" if slot.inactive_seconds is None else f" for {age(slot.inactive_seconds)}")


def _reader_text(reader: Reader) -> str:
    if reader.application_name is None and reader.since_seconds is None:
        return f"pid {reader.pid} (who: hidden from this role; GRANT pg_read_all_stats shows it)"
    who = [inline(reader.application_name or "no name")]
    who += [f"role {inline(reader.role)}"] if reader.role else []
    who += [f"from {reader.address}"] if reader.address else []
    who += [f"for {age(reader.since_seconds)}"] if reader.since_seconds is not None else []
    return f"pid {reader.pid} ({', '.join(who)})"


def _wal_status(slot: Slot) -> str:
    return (slot.wal_status or "-") + (f" ({slot.invalidation_reason})" if slot.invalidation_reason else "")


def _headroom(slot: Slot, postgres: Postgres) -> str:
    if slot.is_lost:
        return "headroom none: the slot is lost"
    if postgres.keep_limit_bytes is None:
        return "headroom unlimited: WAL is kept until the disk is full (max_slot_wal_keep_size = -1)"
    left = "unknown" if slot.safe_bytes is None else size(max(0, slot.safe_bytes))
    return f"headroom {left} until it may be lost (max_slot_wal_keep_size = {size(postgres.keep_limit_bytes)})"


# -- relay


def _relay_texts(report: Report) -> Iterator[str]:
    relay = report.relay
    if relay is None:
        trouble = report.trouble("relay")
        yield safe(trouble.problem) if trouble else "no answer"
        yield from _last_seen(report)
        return
    yield f"{relay.state} for {age(relay.since_seconds)}" + (f": {safe(relay.reason)}" if relay.reason else "")
    delivery = "none yet" if relay.last_delivery_seconds is None else f"{age(relay.last_delivery_seconds)} ago"
    flight = f"in flight {relay.open_records:,} records, {size(relay.open_bytes)}"
    yield f"{_rate(relay)}, {flight}, last delivery {delivery}"
    identity = f"version {inline(relay.version)}, process {relay.pid} at {report.url}"
    yield f"role {inline(relay.role)}, up {age(relay.up_seconds)}, reconnects {relay.reconnects:,}, {identity}"


def _last_seen(report: Report) -> Iterator[str]:
    """What Postgres alone can tell."""
    if (guard := report.guard) is not None:
        yield f"last guard write {age(guard.raised_seconds)} ago, ceiling {guard.ceiling}"
    if (run := report.run) is not None:
        end = "ended in an orderly way" if run.ended else "has not ended in an orderly way: it runs, or died"
        deaths = f"; {run.deaths} deaths in a row before it" if run.deaths else ""
        yield f"last run began {age(run.began_seconds)} ago, and {end}{deaths}"


def _rate(relay: Relay) -> str:
    return "rate -" if relay.rate_per_second is None else f"rate {relay.rate_per_second:,.1f}/s"


# -- what is stuck


def _parked_texts(report: Report) -> Iterator[str]:
    if report.parked is not None:
        yield ", ".join(_parked_text(one) for one in report.parked if one.records) or "none"
    if report.parked_count("dead"):
        yield f"see the dead: cdc-relay dlq list -c {shlex.quote(report.file)} --status dead"
    if report.parked is None:
        yield "unknown"


def _parked_text(parked: Parked) -> str:
    return f"{parked.status} {parked.records:,} ({size(parked.bytes)}, oldest {age(parked.oldest_seconds or 0)})"


def _topic_texts(report: Report) -> Iterator[str]:
    closed = report.relay.closed_topics if report.relay else ()
    for topic in closed:
        why = f"{inline(topic.code)}: {safe(topic.reason)}"
        yield f"{inline(topic.topic)} closed for {age(topic.since_seconds)}: {why}; what to do: {safe(topic.remedy)}"
    for waiting in report.waiting_topics or ():
        yield f"{inline(waiting.topic)}: {waiting.records:,} parked records wait for it to open"
    if report.relay is not None and not closed:
        yield "none closed"


def _error_texts(report: Report) -> list[str]:
    if report.relay is None:
        return [_dead_text(error) for error in report.dead_errors or ()]
    errors = report.relay.errors
    shown = [_error_text(error, report.looked_at) for error in errors[:_SHOWN_ERRORS]]
    more = [f"{len(errors) - _SHOWN_ERRORS} more: --json"] if len(errors) > _SHOWN_ERRORS else []
    return shown + more or ["none since it started"]


def _error_text(error: Error, looked_at: str) -> str:
    times = f" ({error.count:,} times since {error.first_at[:19]})" if error.count > 1 else ""
    return f"{error.at[:19]}Z ({_ago(error.at, looked_at)}) {safe(error.what)}{times}"


def _dead_text(error: DeadError) -> str:
    topic = f" for topic {inline(error.topic)}" if error.topic else ""
    return f"{error.at[:19]}Z a record{topic} is dead: {inline(error.code)}: {inline(error.error)}"


def _ago(moment: str, now: str) -> str:
    try:
        seconds = (datetime.fromisoformat(now) - datetime.fromisoformat(moment).astimezone(UTC)).total_seconds()
    except (ValueError, OverflowError):
        return "?"
    return f"{age(seconds)} ago"


def _gap_text(gap: Gap) -> str:
    rows = "rows unknown" if gap.row_estimate is None else f"about {gap.row_estimate:,} rows"
    where = f"{gap.from_lsn} to {gap.to_lsn}, {gap.from_time[:19]} to {gap.to_time[:19]}, {rows}"
    return f"accepted {gap.accepted_at[:19]} by {inline(gap.accepted_by)}: {where}; closed by: {safe(gap.replay)}"


def _trouble_texts(report: Report) -> Iterator[str]:
    """One line per remedy: a missing right closes several sections."""
    unread = [trouble for trouble in report.troubles if trouble.section != "relay"]
    for remedy in dict.fromkeys(trouble.remedy for trouble in unread):
        same = [trouble for trouble in unread if trouble.remedy == remedy]
        sections = ", ".join(trouble.section for trouble in same)
        yield f"{sections}: {safe(same[0].problem)}; what to do: {safe(remedy)}"
