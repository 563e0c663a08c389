"""What must hold before the relay may read, judged from the catalog's facts. Pure: facts in, findings out.

Each finding is one sentence of what is wrong and the exact SQL or command that repairs it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cdc_relay.errors import RefusedError
from cdc_relay.routing.router import Outbox
from cdc_relay.sources.catalog import OLDEST_VERSION, Facts, TableFacts
from cdc_relay.sources.conninfo import application_name

__all__ = ["Finding", "Wanted", "find_problems", "names_us_as_standby", "refuse", "standby_finding"]


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
    remedy: str


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
        yield Finding(f"Postgres {facts.server_version // 10000} is too old", "use Postgres 15 or newer")
    if facts.wal_level != "logical":
        yield Finding(
            f"wal_level is {facts.wal_level}, and logical decoding needs logical",
            "ALTER SYSTEM SET wal_level = 'logical'; then restart Postgres",
        )


def _slot_problems(facts: Facts, wanted: Wanted) -> Iterator[Finding]:
    slot, name = facts.slot, wanted.slot
    again = (
        f"SELECT pg_drop_replication_slot('{name}'); then cdc-relay setup -c FILE; or set source.slot to another name"
    )
    if slot is None:
        yield Finding(f"there is no replication slot {name}", "create it: cdc-relay setup -c FILE")
    elif slot.plugin != "pgoutput":
        plugin = slot.plugin or "none: it is a physical slot"
        yield Finding(f"slot {name} has the plugin {plugin}; cdc-relay reads pgoutput", again)
    elif slot.database != facts.database:
        yield Finding(
            f"slot {name} belongs to database {slot.database}, and source.dsn connects to {facts.database}",
            f"connect to {slot.database}, or set source.slot to a slot of {facts.database}",
        )
    elif slot.two_phase:
        yield Finding(f"slot {name} was made with two_phase; prepared transactions are not supported", again)
    elif slot.temporary:
        yield Finding(f"slot {name} is temporary: it ends with the session that made it", again)
    elif slot.wal_status == "lost":
        yield Finding(f"slot {name} is lost: Postgres removed WAL that it needed, so events are missing from it", again)


def _publication_problems(facts: Facts, wanted: Wanted) -> Iterator[Finding]:
    publication, name = facts.publication, wanted.publication_label or wanted.publication
    if publication is None:
        yield Finding(f"there is no publication {name}", "create it: cdc-relay setup -c FILE")
    elif not publication.insert:
        fix = f"ALTER PUBLICATION {name} SET (publish = 'insert')"
        yield Finding(f"publication {name} does not publish inserts", f"{fix}; (and whatever others need of it)")
    for outbox in wanted.tables:
        table = facts.tables.get((outbox.schema, outbox.name))
        yield from _table_problems(facts, table, outbox, name)


def _table_problems(facts: Facts, table: TableFacts | None, outbox: Outbox, publication: str) -> Iterator[Finding]:
    if table is None:
        yield Finding(f"there is no table {outbox.label}", "create it, or correct outboxes[].table")
        return
    missing = [column for column in outbox.columns if column not in table.columns]
    if missing:
        places = dict(outbox.places)
        asked = dict.fromkeys(places[column] for column in missing if column in places)
        yield Finding(
            f"table {outbox.label} has no column {', '.join(missing)} (it has {', '.join(table.columns)})",
            "add the column (a generated one is not published), or name another one here: "
            + (", ".join(asked) or "outboxes[].columns"),
        )
    if not table.logged:
        yield Finding(
            f"table {outbox.label} (or a partition of it) is unlogged: such rows never reach the WAL",
            f"ALTER TABLE {outbox.label} SET LOGGED",
        )
    if facts.publication is not None:
        yield from _membership_problems(facts.publication.via_root, table, outbox, publication)


def _membership_problems(via_root: bool, table: TableFacts, outbox: Outbox, publication: str) -> Iterator[Finding]:
    if not table.member:
        fix = f"ALTER PUBLICATION {publication} ADD TABLE {outbox.label}"
        yield Finding(
            f"publication {publication} does not have table {outbox.label}",
            f"{fix}; (rows committed before that are not in the slot)",
        )
    elif table.under_root:
        yield Finding(
            f"table {outbox.label} is a partition, and publication {publication} shows its rows under the root's name",
            "name the partitioned table itself under outboxes[].table",
        )
    elif table.partitioned and not via_root:
        yield Finding(
            f"table {outbox.label} is partitioned, and publication {publication} names its partitions, not the table",
            f"ALTER PUBLICATION {publication} SET (publish_via_partition_root = true)",
        )
    hidden = [column for column in outbox.columns if column in table.columns and column not in table.column_list]
    if table.column_list and hidden:
        yield Finding(
            f"publication {publication} leaves out column {', '.join(hidden)} of {outbox.label}",
            f"BEGIN; ALTER PUBLICATION {publication} DROP TABLE {outbox.label};"
            f" ALTER PUBLICATION {publication} ADD TABLE {outbox.label}; COMMIT;",
        )


def _standby_problems(facts: Facts, wanted: Wanted) -> Iterator[Finding]:
    if names_us_as_standby(facts.synchronous_standby_names, wanted.application_name):
        yield standby_finding(wanted.application_name, facts.synchronous_standby_names)


def standby_finding(application_name: str, setting: str) -> Finding:
    return Finding(
        f"synchronous_standby_names ({setting}) makes {application_name} a synchronous standby:"
        " commits would wait for this relay",
        f"name your real standbys in synchronous_standby_names so that it matches neither * nor {application_name}",
    )


def names_us_as_standby(setting: str, application_name: str) -> bool:
    """`FIRST 1 (a, "b")`, `ANY 2 (*)` or a bare list: any element that is * or, ignoring case, our name."""
    counted = re.fullmatch(r"(?is)\s*(?:(?:first|any)\s+)?\d+\s*\((.*)\)\s*", setting)
    elements = re.findall(r'"((?:[^"]|"")*)"|([^\s,()"]+)', counted.group(1) if counted else setting)
    names = [plain or quoted.replace('""', '"') for quoted, plain in elements]
    return any(name == "*" or name.lower() == application_name.lower() for name in names)
