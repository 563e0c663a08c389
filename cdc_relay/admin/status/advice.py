"""Is anything wrong, and what is to be done first? A Report in, one sentence out. Pure.

The rules are in the order in which an operator would care: what loses rows, what stops everything, what stops a part.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator

from cdc_relay.admin.status.report import Relay, Report, Slot, Verdict
from cdc_relay.parking.desk_text import age, inline, safe, size

__all__ = ["judge"]

_BEHIND_SECONDS = 60.0
_SCARCE = 0.2  # of max_slot_wal_keep_size


def judge(report: Report) -> Verdict:
    found = (verdict for rule in _RULES for verdict in rule(report))
    return next(found, Verdict("ok", "all is well"))


def _find_postgres(report: Report) -> Iterator[Verdict]:
    if report.postgres is None or report.trouble("slot"):
        trouble = report.trouble("postgres") or report.trouble("slot")
        why = f"{trouble.problem}: {trouble.remedy}" if trouble else "it gave no answer: look again"
        yield _act(f"Postgres could not be asked: {safe(why)}")


def _find_backfill(report: Report) -> Iterator[Verdict]:
    """Before the slot: `run` and `setup` refuse until it is finished, whatever the slot looks like."""
    backfill = report.backfill
    if backfill is not None:
        began, stored = age(backfill.began_seconds), age(backfill.stored_seconds)
        command = f"{_command(report, 'setup')} --backfill"
        what = f"backfill {inline(backfill.run)} began {began} ago and is not finished (last heard of {stored} ago)"
        yield _act(f"{what}, until then run refuses: if no process works on it: {command}")


def _find_slot(report: Report) -> Iterator[Verdict]:
    slot, name = report.slot, report.slot_name
    setup = _command(report, "setup")
    if slot is None:
        before = " (it was there: the rows since then are not in a new one)" if report.guard else ""
        yield _act(f"slot {name} does not exist{before}: make it: {setup}")
    elif slot.is_lost:
        why = slot.invalidation_reason or "its WAL is removed"
        drop = f"SELECT pg_drop_replication_slot('{name}')"
        yield _act(f"slot {name} is lost ({why}), it can never be read again: {drop}; then {setup}")
    elif not slot.is_here:
        owner = f"database {inline(slot.database)}" if slot.database else "no database: it is a physical one"
        yield _act(f"slot {name} belongs to {owner}: correct source.dsn or source.slot in {report.file}")


def _find_reader(report: Report) -> Iterator[Verdict]:
    """Nobody reads, and no relay says why."""
    slot = report.slot
    if slot is None or slot.active or report.relay is not None:
        return
    since = "" if slot.inactive_seconds is None else f" for {age(slot.inactive_seconds)}"
    death = " (the last one died)" if report.run is not None and not report.run.ended else ""
    start = f"start the relay: {_command(report, 'run')}"
    yield _act(f"the slot is not read by anybody{since}{death}{_urgency(slot)}: {start}")


def _find_scarcity(report: Report) -> Iterator[Verdict]:
    slot, limit = report.slot, report.postgres.keep_limit_bytes if report.postgres else None
    if slot is None or limit is None or slot.safe_bytes is None:
        return
    if slot.wal_status == "unreserved" or slot.safe_bytes < limit * _SCARCE:
        raised = max(2 * limit, 2 * (slot.kept_bytes or 0)) >> 20
        more = f"ALTER SYSTEM SET max_slot_wal_keep_size = '{raised}MB'; SELECT pg_reload_conf()"
        yield _act(f"the slot is lost after {size(max(0, slot.safe_bytes))} more of WAL: give it room: {more}")


def _find_relay_state(report: Report) -> Iterator[Verdict]:
    relay = report.relay
    if relay is None:
        return
    since, why = f"for {age(relay.since_seconds)}", safe(relay.reason or relay.sink_error or "it does not say why")
    if not relay.live:
        yield _act(f"the relay is stuck: {why}: restart process {relay.pid}")
    match relay.state:
        case "waiting" | "starting":
            yield _act(f"the relay waits {since}: {why}")
        case "holding":
            yield _act(f"the relay holds {since}, nothing is lost: {why}")
        case "released":
            yield _act(f"the relay has released the line {since}, the slot keeps the rows: {why}")
        case "stopping":
            yield Verdict("attention", f"the relay is stopping {since}: start it again: {_command(report, 'run')}")


def _find_standby(report: Report) -> Iterator[Verdict]:
    relay, slot = report.relay, report.slot
    if relay is not None and relay.state == "standby" and slot is not None and not slot.active:
        yield Verdict("attention", "the slot is free, and the standby has not taken it yet: look again in a moment")


def _find_closed_topics(report: Report) -> Iterator[Verdict]:
    for topic in report.relay.closed_topics if report.relay else ():
        yield _act(f"topic {inline(topic.topic)} is closed ({safe(topic.reason)}): {safe(topic.remedy)}")


def _find_troubles(report: Report) -> Iterator[Verdict]:
    for trouble in report.troubles:
        if trouble.section == "relay":
            continue
        yield _act(f"{trouble.section} could not be read: {safe(trouble.problem)}: {safe(trouble.remedy)}")


def _find_dead(report: Report) -> Iterator[Verdict]:
    count, listing = report.parked_count("dead"), f"{_command(report, 'dlq list')} --status dead"
    if count == 1:
        yield _act(f"1 record is dead: decide what becomes of it: {listing}")
    elif count:
        yield _act(f"{count:,} records are dead: decide what becomes of them: {listing}")


def _find_deaths(report: Report) -> Iterator[Verdict]:
    if report.run is not None and report.run.deaths:
        times = f"{report.run.deaths} time{'s'[: report.run.deaths > 1]} in a row"
        yield Verdict("attention", f"the relay died {times} at the same place before this run: read its last log")


def _find_silence(report: Report) -> Iterator[Verdict]:
    """Somebody reads, and it is not the relay that we can ask."""
    trouble = report.trouble("relay")
    if trouble is not None and report.url is not None:
        yield Verdict("attention", f"the slot is read, but {safe(trouble.problem)}: {trouble.remedy}")


def _find_backlog(report: Report) -> Iterator[Verdict]:
    lag, relay = report.lag, report.relay
    if relay is not None and lag.seconds is not None and lag.seconds >= _BEHIND_SECONDS and not lag.at_most:
        yield Verdict("attention", f"the relay is {age(lag.seconds)} behind and works on it{_pace(relay)}: wait")


_RULES: tuple[Callable[[Report], Iterator[Verdict]], ...] = (
    _find_postgres,
    _find_backfill,
    _find_slot,
    _find_reader,
    _find_scarcity,
    _find_relay_state,
    _find_standby,
    _find_closed_topics,
    _find_troubles,
    _find_dead,
    _find_deaths,
    _find_silence,
    _find_backlog,
)


def _act(text: str) -> Verdict:
    return Verdict("act", text)


def _command(report: Report, name: str) -> str:
    return f"cdc-relay {name} -c {shlex.quote(report.file)}"


def _urgency(slot: Slot) -> str:
    return "" if slot.safe_bytes is None else f", and is lost after {size(max(0, slot.safe_bytes))} more of WAL"


def _pace(relay: Relay) -> str:
    return "" if relay.rate_per_second is None else f" at {relay.rate_per_second:,.0f} records/s"
