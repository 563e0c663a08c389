"""Random schemas, types and transactions, decoded by us and by others out of the same WAL: they tell the same.

The seed is in the test's name. CDC_RELAY_HISTORIES=200 tries more of them, CDC_RELAY_HISTORY_SEED=n begins elsewhere.
"""

from __future__ import annotations

import os
from collections import Counter

import psycopg
import pytest

from cdc_relay.protocol.messages import (
    UNCHANGED,
    Begin,
    Commit,
    Delete,
    Insert,
    LogicalMessage,
    Message,
    Relation,
    Row,
    Truncate,
    Update,
)
from tests.contract.other_decoder import as_events, read_events
from tests.contract.printed_changes import Cell, PrintedChange, PrintedTransaction, parse_change, parse_changes
from tests.contract.random_history import History
from tests.contract.random_types import PLAIN_TYPES
from tests.contract.slot_reading import is_end, only, read_all
from tests.fixtures.database import Database

pytestmark = pytest.mark.core

FIRST_SEED = int(os.environ.get("CDC_RELAY_HISTORY_SEED", "1"))
SEEDS = range(FIRST_SEED, FIRST_SEED + int(os.environ.get("CDC_RELAY_HISTORIES", "5")))
TRANSACTIONS = 40


@pytest.fixture
def slot(database: Database) -> str:
    """Of pgoutput, with a publication of everything."""
    database.execute("CREATE PUBLICATION everything FOR ALL TABLES")
    return make_slot(database, "pgoutput")


def make_slot(database: Database, plugin: str) -> str:
    name = f"{database.name}_{plugin}"
    try:
        database.execute("SELECT pg_create_logical_replication_slot(%s, %s)", [name, plugin])
    except psycopg.errors.UndefinedFile:
        pytest.skip(f"{plugin} is a contrib module, which this Postgres lacks: Debian's has it (--pg 15)")
    return name


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_history_is_what_test_decoding_prints(database: Database, slot: str, seed: int) -> None:
    printing = make_slot(database, "test_decoding")
    History(database, seed).write(TRANSACTIONS)
    messages = read_all(database, slot)
    ours = as_printed(messages, database)
    rows = database.execute("SELECT lsn - '0/0', data FROM pg_logical_slot_get_changes(%s, NULL, NULL)", [printing])
    printed = [each for each in parse_changes((int(lsn), text) for lsn, text in rows) if not is_last(each)]
    assert ours == printed
    kinds = Counter(change.kind for transaction in ours for change in transaction.changes)
    assert kinds["INSERT"] > TRANSACTIONS / 4  # or the statements were refused, and nothing was compared
    assert kinds["UPDATE"]
    assert any(UNCHANGED in update.row for update in only(messages, Update))


def is_last(transaction: PrintedTransaction) -> bool:
    """The mark at which the reading ends."""
    return transaction.changes[0].kind == "end"


class Teller:
    """Our messages in the words of test_decoding. A relation is what its latest description says."""

    def __init__(self, type_names: dict[int, str]) -> None:
        self._type_names = type_names
        self._relations: dict[int, Relation] = {}

    def tell(self, message: Message) -> PrintedChange | None:
        match message:
            case Relation():
                self._relations[message.relation_id] = message
            case Insert(relation_id, row):
                return PrintedChange("INSERT", self._name(relation_id), new=self._cells(relation_id, row))
            case Update(relation_id, _, old_row, row):
                old = None if old_row is None else self._old(relation_id, old_row)
                return PrintedChange("UPDATE", self._name(relation_id), old, self._cells(relation_id, row))
            case Delete(relation_id, _, old_row):
                return PrintedChange("DELETE", self._name(relation_id), self._old(relation_id, old_row))
            case Truncate(relation_ids, cascade, restart):
                options = [name for name, is_set in (("restart_seqs", restart), ("cascade", cascade)) if is_set]
                tables = tuple(name for relation_id in relation_ids for name in self._name(relation_id))
                return PrintedChange("TRUNCATE", tables, options=tuple(options))
            case LogicalMessage(transactional, _, prefix, content):
                return PrintedChange(prefix, (), options=(str(int(transactional)), content.decode()))
        return None

    def _name(self, relation_id: int) -> tuple[tuple[str, str], ...]:
        relation = self._relations[relation_id]
        return ((relation.namespace, relation.name),)

    def _cells(self, relation_id: int, row: Row) -> tuple[Cell, ...]:
        columns = self._relations[relation_id].columns
        named = zip(columns, row, strict=True)
        return tuple(Cell(column.name, self._type_names[column.type_oid], value) for column, value in named)

    def _old(self, relation_id: int, row: Row) -> tuple[Cell, ...]:
        return tuple(cell for cell in self._cells(relation_id, row) if cell.value is not None)


def as_printed(messages: list[Message], database: Database) -> list[PrintedTransaction]:
    """By transaction, without the last one, which is the mark at which the reading ends."""
    teller = Teller(dict(database.execute("SELECT oid, format_type(oid, NULL) FROM pg_type")))
    transactions: list[PrintedTransaction] = []
    xid = 0
    changes: list[PrintedChange] = []
    for message in messages:
        if isinstance(message, Begin):
            xid, changes = message.xid, []
        elif isinstance(message, Commit):
            transactions += [PrintedTransaction(xid, message.end_lsn, tuple(changes))] if changes else []
        elif (change := teller.tell(message)) is not None:
            changes.append(change)
    assert is_end(messages[-1])
    return transactions


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_history_of_plain_types_is_what_another_decoder_tells(
    database: Database, slot: str, seed: int
) -> None:
    """Of the types that pgoutput-decoder reads as they are; it makes floats of numerics."""
    pytest.importorskip("pgoutput_decoder", reason="pgoutput-decoder needs Python 3.12", exc_type=ImportError)
    database.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [f"{slot}_2"])
    History(database, seed, types=PLAIN_TYPES, with_ddl=False).write(TRANSACTIONS)
    messages = read_all(database, slot)
    assert only(messages, Insert)
    ours = as_events(messages)
    assert read_events(database, f"{slot}_2", len(ours)) == ours


# --- the oracle's text is read strictly


def test_what_test_decoding_prints_is_read() -> None:
    text = """table public."Od""d": UPDATE: old-key: id[integer]:1 new-tuple: id[integer]:2"""
    text += """ "x[text]:'y'"[text[]]:'it''s'"""
    assert parse_change(text) == PrintedChange(
        "UPDATE",
        (("public", 'Od"d'),),
        old=(Cell("id", "integer", b"1"),),
        new=(Cell("id", "integer", b"2"), Cell("x[text]:'y'", "text[]", b"it's")),
    )


@pytest.mark.parametrize(
    "text",
    [
        "table public.t: INSERT: id[integer]:1 ",
        "table public.t: INSERT: id[integer]:'1",
        "table public.t: INSERT: id[integer]:nullx[text]:'y'",
        "table public.t: INSERT: Id[integer]:1",
        "table public.t: UPDATE: old-key: id[integer]:1",
        "table public.t: TRUNCATE:",
        "table t: INSERT: id[integer]:1",
        "table public.t: UPSERT: id[integer]:1",
    ],
)
def test_what_it_does_not_print_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"no |expected"):
        parse_change(text)
