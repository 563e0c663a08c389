"""What of a table keeps retention from its work, with the exact remedy. Pure: facts in, findings out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cdc_relay.admin.retention.kept import KeptTable
from cdc_relay.admin.retention.table_facts import TIME_TYPES, TableState
from cdc_relay.config import quote_identifier
from cdc_relay.sources.remedy import Step, sql, words

__all__ = ["Obstacle", "find_obstacles", "has_months"]

_MONTHS = "retention.partitions"


@dataclass(frozen=True, slots=True)
class Obstacle:
    name: str  # of the finding of `check`
    problem: str
    steps: tuple[Step, ...]

    @property
    def is_trouble(self) -> bool:
        """A table without months beside one that has them: nothing is asked of it."""
        return self.name != _MONTHS

    @property
    def remedy(self) -> str:
        return "; ".join(str(step) for step in self.steps)


def has_months(table: KeptTable, state: TableState) -> bool:
    """Whether its months are made and dropped; of any other table rows are removed."""
    return table.by_month and state.is_by_range


def find_obstacles(table: KeptTable, state: TableState | None) -> Iterator[Obstacle]:
    if state is None:
        yield _time(f"{table.place}: there is no table {table.label}", words("create it, or correct outboxes[].table"))
        return
    if not has_months(table, state) and not table.keep_seconds:
        yield _no_months(table)
        return
    yield from _time_obstacles(table, state)
    if has_months(table, state):
        yield from _month_obstacles(table, state)
    elif state.missing_rights:
        role = quote_identifier(state.role)
        grants = (sql(f"GRANT {each} TO {role}") for each in state.missing_rights)
        yield Obstacle("retention.rights", f"role {role} may not remove rows of {table.label}", tuple(grants))


def _time_obstacles(table: KeptTable, state: TableState) -> Iterator[Obstacle]:
    column, where = quote_identifier(table.time_column), f"{table.place}: table {table.label}"
    if not state.time_type:
        yield _time(
            f"{where} has no column {column}, which would say how old a row is",
            sql(f"ALTER TABLE {table.label} ADD COLUMN {column} timestamptz NOT NULL DEFAULT now()"),
            words("or name another one: outboxes[].columns.timestamp"),
        )
    elif state.time_type not in TIME_TYPES:
        yield _time(
            f"{where}: column {column} is of type {state.time_type}, and only timestamptz or timestamp (in UTC) say how"
            " old a row is",
            words("name another column: outboxes[].columns.timestamp, or set retention: off for this outbox"),
        )


def _time(problem: str, *steps: Step) -> Obstacle:
    return Obstacle("retention.time", problem, steps)


def _no_months(table: KeptTable) -> Obstacle:
    column = quote_identifier(table.time_column)
    problem = f"{table.place}: table {table.label} is not partitioned by range of {column} alone: it has no months"
    new = "cdc-relay setup -c FILE --outbox-table --partitioned"
    fix = words(f"leave out retention.partitions, or have such a table made under a new name: {new}")
    return Obstacle(_MONTHS, problem, (fix,))


def _month_obstacles(table: KeptTable, state: TableState) -> Iterator[Obstacle]:
    role, owner = quote_identifier(state.role), quote_identifier(state.owner)
    if not state.is_owner:
        problem = f"role {role} may not make and drop partitions of {table.label}, which belongs to {owner}"
        other = words("or let the owner do it, from cron: cdc-relay retention -c FILE (docs/retention.md)")
        yield Obstacle("retention.rights", problem, (sql(f"GRANT {owner} TO {role}"), other))
    elif not state.owner_may_create:
        problem = f"{owner}, the owner of {table.label}, may not make tables in its schema"
        grant = sql(f"GRANT CREATE ON SCHEMA {quote_identifier(table.schema)} TO {owner}")
        yield Obstacle("retention.rights", problem, (grant,))
