"""The Postgres part of `check`: reads the facts, has them judged. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from cdc_relay.admin.check.finding import Finding, fail, ok
from cdc_relay.admin.check.lines import as_own, failure, open_line
from cdc_relay.admin.check.postgres_facts import (
    read_published_operations,
    read_server,
    read_slot,
    read_types,
)
from cdc_relay.admin.check.server_rules import judge_server, judge_transactions
from cdc_relay.admin.check.slot_rules import judge_slot
from cdc_relay.admin.check.table_rules import judge_operations, judge_table
from cdc_relay.config import RelayConfig, quote_identifier
from cdc_relay.errors import RefusedError, RelayError
from cdc_relay.sources.catalog import OLDEST_VERSION, Facts, read_facts
from cdc_relay.sources.line import Line
from cdc_relay.sources.preflight import Wanted, find_problems
from cdc_relay.sources.remedy import Step, sql, words
from cdc_relay.target import conninfo_of, replication_conninfo_of, wanted_of

__all__ = ["check_postgres"]


def check_postgres(config: RelayConfig, *, tries_replication: bool = True) -> Iterator[Finding]:
    """`tries_replication`: a relay that streams has shown that it can, and a walsender may be the last free one."""
    slot = config.source.slot
    try:
        with closing(open_line(as_own(conninfo_of(config), slot))) as line:
            yield ok("postgres.reachable", _place(line))
            yield from _Inspection(config, line).run()
            if tries_replication:
                yield from _try_replication(as_own(replication_conninfo_of(config), slot), line.place.user)
    except RelayError as exc:
        yield failure("postgres.reachable", exc)


class _Inspection:
    def __init__(self, config: RelayConfig, line: Line) -> None:
        self._config = config
        self._line = line
        self._wanted = wanted_of(config)

    def run(self) -> Iterator[Finding]:
        wanted = self._wanted
        tables = [(outbox.schema, outbox.name) for outbox in wanted.tables]
        facts = read_facts(self._line, slot=wanted.slot, publication=wanted.publication, tables=tables)
        problems = [fail(each.name, each.problem, *each.steps) for each in find_problems(facts, wanted)]
        yield from problems
        yield from _agreed(facts, wanted, {finding.name for finding in problems})
        if facts.server_version >= OLDEST_VERSION:
            yield from self._inspect(facts)

    def _inspect(self, facts: Facts) -> Iterator[Finding]:
        server = read_server(self._line)
        slot = read_slot(self._line, self._wanted.slot)
        is_read = slot is not None and slot.reader is not None
        timeout_seconds = self._config.source.wal_sender_timeout_seconds
        yield from judge_server(server, timeout_seconds=timeout_seconds, has_slot=slot is not None, is_read=is_read)
        yield from judge_transactions(server)
        if slot is not None:
            yield from judge_slot(facts, slot, server=server, wanted=self._wanted, dsn=self._config.source.dsn)
        yield from self._inspect_tables(facts)

    def _inspect_tables(self, facts: Facts) -> Iterator[Finding]:
        label = self._wanted.publication_label
        if facts.publication is not None:
            yield judge_operations(label, read_published_operations(self._line, self._wanted.publication))
        for outbox in self._wanted.tables:
            table = facts.tables.get((outbox.schema, outbox.name))
            if table is not None:
                types = read_types(self._line, outbox.schema, outbox.name)
                yield from judge_table(outbox, table, types, publication=label)


def _agreed(facts: Facts, wanted: Wanted, problems: set[str]) -> Iterator[Finding]:
    """What the preflight asked and found in order."""
    version = facts.server_version
    yield from _unless(problems, "postgres.version", f"{version // 10000}.{version % 10000}")
    yield from _unless(problems, "postgres.wal_level", facts.wal_level)
    if version < OLDEST_VERSION:
        return
    names = facts.synchronous_standby_names
    yield from _unless(problems, "postgres.synchronous_standby_names", names or "empty")
    yield from _unless(problems, "postgres.publication", wanted.publication_label)
    yield from _unless(problems, "postgres.slot", wanted.slot)
    for outbox in wanted.tables:
        table = facts.tables.get((outbox.schema, outbox.name))
        if table is not None:
            kind = "partitioned, " if table.partitioned else ""
            yield ok("postgres.table", f"{outbox.label}: {kind}{len(outbox.columns)} columns are used")


def _unless(problems: set[str], name: str, found: str) -> Iterator[Finding]:
    """A slot of another plugin is there all the same: what is wrong with it has a name below its own."""
    if name not in problems:
        yield ok(name, found)


def _try_replication(conninfo: str, role: str) -> Iterator[Finding]:
    name = "postgres.replication"
    try:
        with closing(open_line(conninfo)) as line:
            line.query("IDENTIFY_SYSTEM")
    except RefusedError as exc:
        yield fail(name, exc.message, *_replication_fix(exc, role))
    except RelayError as exc:
        yield failure(name, exc)
    else:
        yield ok(name, f"role {quote_identifier(role)} may replicate")


def _replication_fix(exc: RefusedError, role: str) -> tuple[Step, ...]:
    if "REPLICATION" in exc.remedy:
        return (sql(f"ALTER ROLE {quote_identifier(role)} REPLICATION"),)
    return (words(exc.remedy),)


def _place(line: Line) -> str:
    place = line.place
    return f"{place.host}:{place.port}, database {place.database}, role {place.user}"
