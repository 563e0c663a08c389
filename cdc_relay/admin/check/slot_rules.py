"""The slot of the relay, judged: who reads it, what it keeps, and what becomes of it in a failover. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from cdc_relay.admin.check.finding import Finding, ok, warn
from cdc_relay.admin.check.postgres_facts import Reader, ServerFacts, SlotDetails
from cdc_relay.admin.failover import failover_command
from cdc_relay.parking.desk_text import size
from cdc_relay.sources.catalog import Facts, SlotFacts
from cdc_relay.sources.preflight import Wanted
from cdc_relay.sources.remedy import Step, reload_setting, shell, sql, words

__all__ = ["judge_slot"]

LARGE_BYTES = 10 << 30  # kept for a slot without a limit
_SYNCHRONIZED = "synchronized_standby_slots"
_WAITS = words("the relay then waits for these standbys: name only those that a failover may go to")


def judge_slot(facts: Facts, slot: SlotDetails, *, server: ServerFacts, wanted: Wanted, dsn: str) -> Iterator[Finding]:
    """`dsn`: of the source, for psql."""
    if facts.slot is None:
        return
    yield _judge_reader(slot.reader, wanted)
    if facts.slot.wal_status != "lost":  # a lost one keeps nothing, and preflight has said it
        yield _judge_wal_status(facts.slot, slot, wanted.slot)
        yield _judge_lag(facts, slot, server)
    if slot.failover is not None:
        yield _judge_failover(slot.failover, server, wanted.slot, dsn)
        yield _judge_synchronized(slot.failover, server)


def _judge_reader(reader: Reader | None, wanted: Wanted) -> Finding:
    name = "postgres.slot.reader"
    if reader is None:
        return ok(name, "nobody at this moment")
    where = f" at {reader.address}" if reader.address else ""
    found = f"pid {reader.pid}, {reader.application or 'without a name'}{where}"
    if reader.application == wanted.application_name:
        return ok(name, f"a relay: {found}")
    look = sql(f"SELECT * FROM pg_stat_replication WHERE pid = {reader.pid}")
    end = sql(f"SELECT pg_terminate_backend({reader.pid})")
    return warn(name, f"not a relay: {found}", look, words("stop that program, or end its connection:"), end)


def _judge_wal_status(slot: SlotFacts, details: SlotDetails, label: str) -> Finding:
    name = "postgres.slot.wal_status"
    if slot.wal_status != "unreserved":
        return ok(name, slot.wal_status)
    found = f"unreserved: the next checkpoint may remove WAL that slot {label} needs"
    return warn(name, found, *_catch_up(details))


def _judge_lag(facts: Facts, slot: SlotDetails, server: ServerFacts) -> Finding:
    name = "postgres.slot.lag"
    kept = 0 if slot.restart_lsn is None else max(0, facts.wal_lsn - slot.restart_lsn)
    limit = LARGE_BYTES if server.keep_bytes is None else server.keep_bytes // 2
    left = "" if slot.safe_bytes is None else f", {size(max(0, slot.safe_bytes))} more until it is lost"
    found = f"{size(facts.lag_bytes or 0)} not confirmed, {size(kept)} of WAL kept{left}"
    if kept <= limit:
        return ok(name, found)
    return warn(name, found, *_catch_up(slot), *_more_room(server.keep_bytes))


def _catch_up(slot: SlotDetails) -> tuple[Step, ...]:
    if slot.reader is None:
        return (words("nobody reads the slot; start the relay:"), shell("cdc-relay run -c FILE"))
    return (words("see why the relay does not confirm: its log, /readyz, and a long transaction below"),)


def _more_room(keep_bytes: int | None) -> tuple[Step, ...]:
    if keep_bytes is None:
        return ()
    doubled = f"{max(1, 2 * keep_bytes // (1 << 20))}MB"
    return (words("or give it more room:"), *reload_setting("max_slot_wal_keep_size", doubled))


def _judge_failover(is_failover: bool, server: ServerFacts, slot: str, dsn: str) -> Finding:
    name = "postgres.slot.failover"
    if is_failover:
        return ok(name, "on")
    if not server.has_standbys:
        return ok(name, "off, and the server has no standby")
    known = server.physical_slots or server.standbys or server.idle_physical_slots
    alter = shell(failover_command(dsn, slot))
    follow = "and on the standby: sync_replication_slots = on, hot_standby_feedback = on, a dbname in primary_conninfo"
    steps = words("while the relay is stopped:"), alter, words(follow)
    return warn(name, f"off, and the server has a standby ({', '.join(known)})", *steps)


def _judge_synchronized(is_failover: bool, server: ServerFacts) -> Finding:
    name = "postgres.synchronized_standby_slots"
    if server.synchronized_slots:
        return ok(name, server.synchronized_slots)
    if not is_failover or not server.has_standbys:
        return ok(name, "empty, and there is no failover slot" if server.has_standbys else "empty, and no standby")
    if server.physical_slots:
        found = f"empty, and the standbys' slots are {', '.join(server.physical_slots)}"
        return warn(name, found, *reload_setting(_SYNCHRONIZED, ", ".join(server.physical_slots)), _WAITS)
    if server.standbys:
        found = f"empty, and the standby {', '.join(server.standbys)} has no slot of its own"
        make = sql("SELECT pg_create_physical_replication_slot('standby1')")
        use = words("set primary_slot_name = 'standby1' on the standby; then here:")
        return warn(name, found, make, use, *reload_setting(_SYNCHRONIZED, "standby1"), _WAITS)
    found = f"empty, and nobody reads the physical slot {', '.join(server.idle_physical_slots)}"
    drop = sql(f"SELECT pg_drop_replication_slot('{server.idle_physical_slots[0]}')")
    return warn(name, found, words("start its standby and check again; or, if there is none any more:"), drop)
