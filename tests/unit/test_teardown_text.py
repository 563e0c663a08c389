"""What a teardown says that it would take down, and what is lost with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cdc_relay.admin.teardown_facts import PEEK_LIMIT, PublicationThere, SchemaThere, SlotThere
from cdc_relay.admin.teardown_plan import TeardownFacts
from cdc_relay.admin.teardown_text import describe
from cdc_relay.sources.preflight import Wanted
from tests.unit.session_rig import OUTBOX

WANTED = Wanted("orders", "orders_pub", (OUTBOX,))
NOTHING = TeardownFacts("shop", None, None, (), None, None, None)
SLOT = SlotThere("pgoutput", "shop", None, "reserved", "0/16B3748", 1_234, 56_789)
PUBLICATION = PublicationThere("owner", all_tables=False, tables=("public.outbox",), other_slots=())
LOT = SchemaThere("shop", "owner", ("slot_guards",), has_lot=True, parked={"dead": 2, "published": 5})


def lines(facts: TeardownFacts, *, with_lot: bool = False) -> str:
    return "\n".join(describe(facts, WANTED, with_lot=with_lot))


def test_what_is_not_there_is_said() -> None:
    said = lines(NOTHING)
    for each in ("slot orders", "publication orders_pub", "lot"):
        assert f"{each}: not there" in said
    assert "the outbox tables and their rows are not touched" in said


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (None, "1,234 bytes of WAL are unconfirmed; events in them could not be counted"),
        (0, "1,234 bytes of WAL are unconfirmed, with no event in them"),
        (1, "unconfirmed: 1 event in them would not be published"),
        (17, "unconfirmed: 17 events in them would not be published"),
        (PEEK_LIMIT, f"unconfirmed: {PEEK_LIMIT:,} events or more in them would not be published"),
    ],
)
def test_what_would_not_be_published_is_counted(rows: int | None, said: str) -> None:
    assert said in lines(replace(NOTHING, slot=SLOT, waiting_rows=rows))


def test_a_slot_that_is_lost_has_nothing_to_lose() -> None:
    said = lines(replace(NOTHING, slot=replace(SLOT, wal_status="lost"), waiting_rows=17))
    assert "the slot is lost already" in said
    assert "17 events" not in said


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"all_tables": True}, "it is FOR ALL TABLES"),
        ({"tables": ("public.outbox", "public.orders")}, "it also has public.orders: whoever reads those"),
        ({"other_slots": ("audit",)}, "which may be read through it: audit"),
    ],
)
def test_who_else_may_read_a_publication_is_named(changes: dict[str, Any], said: str) -> None:
    publication = replace(PUBLICATION, **changes)
    assert said in lines(replace(NOTHING, publication=publication))
    assert said not in lines(replace(NOTHING, publication=PUBLICATION))


def test_the_lot_stays_unless_it_is_asked_for() -> None:
    stays, goes = lines(replace(NOTHING, lot=LOT)), lines(replace(NOTHING, lot=LOT), with_lot=True)
    assert "lot in database shop: 2 dead, 5 published; stays" in stays
    assert "2 records of them would wait until a relay reads a slot named orders again" in stays
    assert "5 published; goes" in goes
    assert "2 records of them would never be published; to keep them: cdc-relay dlq export" in goes


def test_who_else_uses_the_schema_and_what_it_remembers_is_named() -> None:
    shared = replace(LOT, other_slots=("audit",), remembered={"slot_guards": 1, "runs": 0})
    said = lines(replace(NOTHING, schema=shared, lot=shared), with_lot=True)
    assert "schema cdc_relay stays for other slots: audit" in said
    assert "what schema cdc_relay remembers of slot orders: goes with it (slot_guards 1)" in said
