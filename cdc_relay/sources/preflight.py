"""What must hold before the relay may read, judged from the catalog's facts. Pure: facts in, findings out.

Each finding is one sentence of what is wrong and the exact SQL or command that repairs it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cdc_relay.errors import RefusedError
from cdc_relay.routing.router import Outbox
from cdc_relay.sources.catalog import OLDEST_VERSION, Facts, SlotFacts, TableFacts
from cdc_relay.sources.conninfo import application_name
from cdc_relay.sources.remedy import SETUP, Step, restart_setting, sql, words

__all__ = [
    "Finding",
    "Wanted",
    "find_problems",
    "names_us_as_standby",
    "publish_whole",
    "refuse",
    "standby_finding",
]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the configuration asks of Postgres."""

    slot: str
    publication: str
    outboxes: tuple[Outbox, ...]
    publication_label: str = ""  # as SQL writes it; empty: as it is

    @property
    def tables(self) -> tuple[Outbox, ...]:
        """Those of the outboxes that are tables, and so of the publication."""
        return tuple(outbox for outbox in self.outboxes if outbox.message_prefix is None)

    @property
    def reads_messages(self) -> bool:
        return len(self.tables) < len(self.outboxes)

    @property
    def application_name(self) -> str:
        return application_name(self.slot)


@dataclass(frozen=True, slots=True)
class Finding:
    problem: str
    remedy: str  # all of it, as one sentence
    name: str = ""  # by which `check` and its document know what was looked at
    steps: tuple[Step, ...] = ()  # the remedy, step by step


def refuse(findings: Iterable[Finding]) -> None:
    """Raise one RefusedError for all of them, or return when there are none."""
    all_of_them = list(findings)
    if not all_of_them:
        return
    first, rest = all_of_them[0], all_of_them[1:]
    more = "".join(f"\n  also: {finding.problem}\n    what to do: {finding.remedy}" for finding in rest)
    raise RefusedError(first.problem, remedy=first.remedy + more)


def find_problems(facts: Facts, wanted: Wanted, *, with_slot: bool = True) -> Iterator[Finding]:
    """Without the slot where somebody else has judged it."""
    yield from _server_problems(facts)
    if facts.server_version < OLDEST_VERSION:
        return  # nothing else was asked
    if with_slot:
        yield from _slot_problems(facts, wanted)
    yield from _publication_problems(facts, wanted)
    yield from _standby_problems(facts, wanted)


def _server_problems(facts: Facts) -> Iterator[Finding]:
    if facts.server_version < OLDEST_VERSION:
        problem = f"Postgres {facts.server_version // 10000} is too old"
        yield _found("postgres.version", problem, "{}", words("use Postgres 15 or newer"))
    if facts.wal_level != "logical":
        problem = f"wal_level is {facts.wal_level}, and logical decoding needs logical"
        yield _found("postgres.wal_level", problem, "{}; then {}", *restart_setting("wal_level", "logical"))


def _slot_problems(facts: Facts, wanted: Wanted) -> Iterator[Finding]:
    slot, name = facts.slot, wanted.slot
    again = "{}; then {}; or set source.slot to another name", sql(f"SELECT pg_drop_replication_slot('{name}')"), SETUP
    if slot is None:
        yield _found("postgres.slot", f"there is no replication slot {name}", "create it: {}", SETUP)
    elif slot.plugin != "pgoutput":
        plugin = slot.plugin or "none: it is a physical slot"
        yield _found("postgres.slot.plugin", f"slot {name} has the plugin {plugin}; cdc-relay reads pgoutput", *again)
    elif slot.database != facts.database:
        yield _found(
            "postgres.slot.database",
            f"slot {name} belongs to database {slot.database}, and source.dsn connects to {facts.database}",
            "{}",
            words(f"connect to {slot.database}, or set source.slot to a slot of {facts.database}"),
        )
    elif slot.two_phase:
        problem = f"slot {name} was made with two_phase; prepared transactions are not supported"
        yield _found("postgres.slot.two_phase", problem, *again)
    elif slot.temporary:
        problem = f"slot {name} is temporary: it ends with the session that made it"
        yield _found("postgres.slot.temporary", problem, *again)
    elif slot.wal_status == "lost":
        problem = f"slot {name} is lost: {_cause(slot)}, so events are missing from it"
        yield _found("postgres.slot.wal_status", problem, *again)


def _cause(slot: SlotFacts) -> str:
    if slot.invalidation in ("", "wal_removed"):
        return "Postgres removed WAL that it needed"
    return f"Postgres invalidated it ({slot.invalidation})"


def _publication_problems(facts: Facts, wanted: Wanted) -> Iterator[Finding]:
    publication, name = facts.publication, wanted.publication_label or wanted.publication
    if publication is None:
        yield _found("postgres.publication", f"there is no publication {name}", "create it: {}", SETUP)
    elif not publication.insert:
        yield _found(
            "postgres.publication.inserts",
            f"publication {name} does not publish inserts",
            "{}; (and whatever others need of it)",
            sql(f"ALTER PUBLICATION {name} SET (publish = 'insert')"),
        )
    for outbox in wanted.tables:
        table = facts.tables.get((outbox.schema, outbox.name))
        yield from _table_problems(facts, table, outbox, name)


def _table_problems(facts: Facts, table: TableFacts | None, outbox: Outbox, publication: str) -> Iterator[Finding]:
    if table is None:
        fix = words("create it, or correct outboxes[].table; cdc-relay setup -c FILE --outbox-table makes one")
        yield _found("postgres.table", f"there is no table {outbox.label}", "{}", fix)
        return
    missing = [column for column in outbox.columns if column not in table.columns]
    if missing:
        places = dict(outbox.places)
        asked = dict.fromkeys(places[column] for column in missing if column in places)
        fix = words(
            "add the column (a generated one is not published), or name another one here: "
            + (", ".join(asked) or "outboxes[].columns")
        )
        problem = f"table {outbox.label} has no column {', '.join(missing)} (it has {', '.join(table.columns)})"
        yield _found("postgres.table.columns", problem, "{}", fix)
    if not table.logged:
        problem = f"table {outbox.label} (or a partition of it) is unlogged: such rows never reach the WAL"
        yield _found("postgres.table.logged", problem, "{}", sql(f"ALTER TABLE {outbox.label} SET LOGGED"))
    if facts.publication is not None:
        yield from _membership_problems(facts.publication.via_root, table, outbox, publication)


def _membership_problems(via_root: bool, table: TableFacts, outbox: Outbox, publication: str) -> Iterator[Finding]:
    if not table.member:
        yield _found(
            "postgres.table.published",
            f"publication {publication} does not have table {outbox.label}",
            "{}; ({})",
            sql(f"ALTER PUBLICATION {publication} ADD TABLE {outbox.label}"),
            words("rows committed before that are not in the slot"),
        )
    elif table.under_root:
        yield _found(
            "postgres.table.partition_root",
            f"table {outbox.label} is a partition, and publication {publication} shows its rows under the root's name",
            "{}",
            words("name the partitioned table itself under outboxes[].table"),
        )
    elif table.partitioned and not via_root:
        yield _found(
            "postgres.table.partition_root",
            f"table {outbox.label} is partitioned, and publication {publication} names its partitions, not the table",
            "{}",
            sql(f"ALTER PUBLICATION {publication} SET (publish_via_partition_root = true)"),
        )
    hidden = [column for column in outbox.columns if column in table.columns and column not in table.column_list]
    if table.column_list and hidden:
        problem = f"publication {publication} leaves out column {', '.join(hidden)} of {outbox.label}"
        yield _found("postgres.table.column_list", problem, "{}", publish_whole(publication, outbox.label))


def publish_whole(publication: str, table: str) -> Step:
    """In one transaction: no row of the table is committed while the publication is without it."""
    return sql(
        f"BEGIN; ALTER PUBLICATION {publication} DROP TABLE {table};"
        f" ALTER PUBLICATION {publication} ADD TABLE {table}; COMMIT;"
    )


def _standby_problems(facts: Facts, wanted: Wanted) -> Iterator[Finding]:
    if names_us_as_standby(facts.synchronous_standby_names, wanted.application_name):
        yield standby_finding(wanted.application_name, facts.synchronous_standby_names)


def standby_finding(application_name: str, setting: str) -> Finding:
    return _found(
        "postgres.synchronous_standby_names",
        f"synchronous_standby_names ({setting}) makes {application_name} a synchronous standby:"
        " commits would wait for this relay",
        "{}",
        words(
            f"name your real standbys in synchronous_standby_names so that it matches neither * nor {application_name}"
        ),
    )


def _found(name: str, problem: str, sentence: str, *steps: Step) -> Finding:
    return Finding(problem, sentence.format(*steps), name, steps)


def names_us_as_standby(setting: str, application_name: str) -> bool:
    """`FIRST 1 (a, "b")`, `ANY 2 (*)` or a bare list: any element that is * or, ignoring case, our name."""
    counted = re.fullmatch(r"(?is)\s*(?:(?:first|any)\s+)?\d+\s*\((.*)\)\s*", setting)
    elements = re.findall(r'"((?:[^"]|"")*)"|([^\s,()"]+)', counted.group(1) if counted else setting)
    names = [plain or quoted.replace('""', '"') for quoted, plain in elements]
    return any(name == "*" or name.lower() == application_name.lower() for name in names)
