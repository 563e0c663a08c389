"""What setup has to make, decided from the catalog's facts. Pure: facts in, a plan out."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cdc_relay.routing.router import Outbox
from cdc_relay.sources.catalog import Facts, PublicationFacts, SlotFacts, TableFacts
from cdc_relay.sources.preflight import Wanted

__all__ = ["SetupPlan", "as_if_made", "plan_setup"]


@dataclass(frozen=True, slots=True)
class SetupPlan:
    create_publication: bool
    add_tables: tuple[Outbox, ...]  # to a publication that is there
    create_slot: bool


def plan_setup(facts: Facts, wanted: Wanted) -> SetupPlan:
    new = facts.publication is None
    absent = (box for box in wanted.tables if not _is_member(facts, box))
    return SetupPlan(
        create_publication=new,
        add_tables=() if new else tuple(absent),
        create_slot=facts.slot is None,
    )


def as_if_made(facts: Facts) -> Facts:
    """The facts as they will be once the plan is carried out: what is still wrong then, setup cannot repair."""
    return replace(
        facts,
        slot=facts.slot or SlotFacts("pgoutput", facts.database, False, False, "reserved", 0),
        publication=facts.publication or PublicationFacts(oid="", all_tables=False, insert=True, via_root=True),
        tables={name: _as_member(table) for name, table in facts.tables.items()},
    )


def _is_member(facts: Facts, outbox: Outbox) -> bool:
    table = facts.tables.get((outbox.schema, outbox.name))
    return table is not None and bool(table.member)


def _as_member(table: TableFacts) -> TableFacts:
    return table if table.member else replace(table, member="table")
