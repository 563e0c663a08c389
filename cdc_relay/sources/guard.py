"""Whether the slot is where this relay left it, judged from the guard's row and the catalog. Pure.

What it cannot see is in docs/guard.md: above all a restore that brings slot and guard back together.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from cdc_relay.errors import RefusedError
from cdc_relay.protocol.lsn import format_lsn
from cdc_relay.sources.catalog import Facts, SlotFacts
from cdc_relay.sources.gap import Gap, Mark, find_replay
from cdc_relay.sources.preflight import Finding, Wanted
from cdc_relay.sources.remedy import SETUP, Step, shell, sql, words

__all__ = [
    "Guard",
    "Problem",
    "Seen",
    "Server",
    "describe_publication",
    "find_notices",
    "find_problem",
    "is_same_publication",
    "refuse_gap",
    "see_publication",
]


@dataclass(frozen=True, slots=True)
class Server:
    """Who answers, and what it is at."""

    system_identifier: int
    timeline: int
    mark: Mark


@dataclass(frozen=True, slots=True)
class Seen:
    """The publication as it was when the WAL had got to `lsn`, or later."""

    publication: str  # as describe_publication has it
    lsn: int


@dataclass(frozen=True, slots=True)
class Guard:
    """What was written down of a slot."""

    system_identifier: int
    timeline: int
    publication: str  # as describe_publication had it
    seen_lsn: int
    seen_at: datetime
    ceiling_lsn: int
    settled: Mark  # everything before it is delivered or parked


@dataclass(frozen=True, slots=True)
class Problem:
    """Events may be missing: why, and which."""

    finding: Finding
    gap: Gap
    can_be_accepted: bool  # False: the slot itself has to be made anew first


_READS_ON = 180000  # before, a slot cannot be decoded past the moment at which its publication was missing
_GO_ON = shell("cdc-relay run -c FILE --accept-gap")


class _Cause(NamedTuple):
    said: str
    first_steps: tuple[Step, ...] = ()
    can_be_accepted: bool = True


def find_problem(guard: Guard, facts: Facts, server: Server, wanted: Wanted) -> Problem | None:
    """The first that is found. Guard and server were read after the facts: another process may be moving the slot."""
    cause = next(_causes(guard, facts, server, wanted), None)
    if cause is None:
        return None
    same_server = guard.system_identifier == server.system_identifier
    replay = find_replay(guard.settled, server.mark, same_server=same_server)
    gap = Gap(guard.settled, server.mark, replay)
    steps = (*cause.first_steps, *_closing(replay, wanted), _GO_ON)
    finding = Finding(f"{cause.said}: events may be missing, {gap}", "; then ".join(map(str, steps)), steps=steps)
    return Problem(finding, gap, cause.can_be_accepted)


def _closing(replay: str, wanted: Wanted) -> Iterator[Step]:
    if wanted.tables:
        yield shell(replay)
    if wanted.reads_messages:
        yield words("ask the producers of messages (pg_logical_emit_message), which are in no table, for theirs")


def refuse_gap(problem: Problem) -> RefusedError:
    return RefusedError(problem.finding.problem, remedy=problem.finding.remedy)


def find_notices(guard: Guard, facts: Facts, server: Server) -> Iterator[str]:
    """What is normal, and worth a line."""
    if guard.timeline != server.timeline:
        yield f"the server is on timeline {server.timeline}, it was on {guard.timeline}: a failover or a restore"
    confirmed_lsn = 0 if facts.slot is None else facts.slot.confirmed_lsn
    if confirmed_lsn < guard.ceiling_lsn:
        yield (
            f"the slot is confirmed up to {format_lsn(confirmed_lsn)}, the relay may have got to"
            f" {format_lsn(guard.ceiling_lsn)}: after a crash or a failover some events come twice"
        )
    elif confirmed_lsn > guard.ceiling_lsn:
        yield (
            f"the synchronized slot is at {format_lsn(confirmed_lsn)}, the guard's row came with the WAL up to"
            f" {format_lsn(guard.ceiling_lsn)}: more than seconds means that it was moved before the failover"
        )


def describe_publication(facts: Facts, wanted: Wanted) -> str:
    """Whatever, if it changes, means that rows of an outbox may have been skipped."""
    publication = facts.publication
    flags = [] if publication is None else [publication.oid, publication.all_tables, publication.insert]
    via_root = publication is not None and publication.via_root
    named = {outbox.label: facts.tables.get((outbox.schema, outbox.name)) for outbox in wanted.tables}
    tables = {
        label: table and [table.member, table.row_filter, table.column_list, table.logged, table.under_root]
        for label, table in named.items()
    }
    return json.dumps({"publication": [wanted.publication, *flags, via_root], "tables": tables})


def see_publication(facts: Facts, wanted: Wanted) -> Seen:
    """The facts' WAL position was read before the publication."""
    return Seen(describe_publication(facts, wanted), facts.wal_lsn)


def is_same_publication(before: str, now: str) -> bool:
    """For the outboxes of both: one that the file has gained or lost is nothing that happened to the others."""
    old, new = json.loads(before), json.loads(now)
    shared = old["tables"].keys() & new["tables"].keys()
    return old["publication"] == new["publication"] and all(old["tables"][k] == new["tables"][k] for k in shared)


def _causes(guard: Guard, facts: Facts, server: Server, wanted: Wanted) -> Iterator[_Cause]:
    slot, name = facts.slot, wanted.slot
    if slot is None:
        yield _Cause(f"replication slot {name} is gone", (SETUP,), can_be_accepted=False)
    elif slot.wal_status == "lost" or slot.invalidation:
        reason = slot.invalidation or "Postgres removed WAL that it needed"
        yield _Cause(f"replication slot {name} is lost ({reason})", (_drop(name), SETUP), can_be_accepted=False)
    elif slot.confirmed_lsn > server.mark.lsn:
        yield _Cause(
            f"slot {name} is confirmed up to {format_lsn(slot.confirmed_lsn)}, beyond the end of the server's WAL"
            f" ({format_lsn(server.mark.lsn)}), and Postgres would skip all until there",
            (_drop(name), SETUP),
            can_be_accepted=False,
        )
    elif guard.system_identifier != server.system_identifier:
        yield _Cause(
            f"this is another server (system identifier {server.system_identifier}) than slot {name} was read from"
            f" ({guard.system_identifier})"
        )
    elif slot.confirmed_lsn > guard.ceiling_lsn and not _has_followed(guard, slot, server):
        yield _Cause(
            f"slot {name} is at {format_lsn(slot.confirmed_lsn)}, and this relay confirmed no more than"
            f" {format_lsn(guard.ceiling_lsn)}: it was advanced, or dropped and made again"
        )
    yield from _publication_causes(guard, facts, wanted)


def _publication_causes(guard: Guard, facts: Facts, wanted: Wanted) -> Iterator[_Cause]:
    now = describe_publication(facts, wanted)
    if is_same_publication(guard.publication, now):
        return
    is_undecodable = facts.server_version < _READS_ON and _oid(guard.publication) != _oid(now)
    yield _Cause(
        f"publication {wanted.publication_label or wanted.publication} is not as it was when it was last seen, at"
        f" LSN {format_lsn(guard.seen_lsn)} ({guard.seen_at:%Y-%m-%d %H:%M:%S} UTC)",
        (_drop(wanted.slot), SETUP) if is_undecodable and facts.slot is not None else (SETUP,),
    )


def _oid(description: str) -> object:
    return json.loads(description)["publication"][1:2]


def _drop(slot: str) -> Step:
    return sql(f"SELECT pg_drop_replication_slot('{slot}')")


def _has_followed(guard: Guard, slot: SlotFacts, server: Server) -> bool:
    """After a failover a synchronized slot may be a moment ahead of the guard's row, which comes with the WAL."""
    return slot.synced and server.timeline != guard.timeline
