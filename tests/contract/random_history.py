"""A random life of a database out of one seed: tables of random types, transactions, savepoints, rollbacks and DDL.

The same seed makes the same statements. One that Postgres refuses is undone by its own savepoint, and goes on.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import psycopg
from psycopg import sql

from tests.contract.random_types import KEY_TYPES, NAMES, PREPARE, TYPES, make_value
from tests.fixtures.database import Database
from tests.fixtures.postgres_server import Row

__all__ = ["History"]

_SCHEMAS = ("public", "Other Schema")
_MOST_TABLES, _MOST_COLUMNS, _MOST_STEPS, _DEEPEST = 4, 8, 10, 3
_ROLLED_BACK = (0.15, 0.4)  # the share of transactions, and of savepoints


@dataclass(slots=True)
class _Table:
    schema: str
    name: str
    columns: dict[str, str] = field(default_factory=dict)  # type by name
    keys: frozenset[str] = frozenset()

    @property
    def identifier(self) -> sql.Identifier:
        return sql.Identifier(self.schema, self.name)


class _RolledBackError(Exception):
    """Ends a transaction, or what was done since a savepoint."""


class History:
    def __init__(
        self, database: Database, seed: int, *, types: Sequence[str] = tuple(TYPES), with_ddl: bool = True
    ) -> None:
        self._rng = random.Random(seed)
        self._types = types
        self._with_ddl = with_ddl
        self._tables: list[_Table] = []
        self._number = 0
        self._conn = database.connect()
        for statement in PREPARE:
            self._conn.execute(statement)

    def write(self, transactions: int) -> None:
        with self._conn:
            for number in range(1, self._rng.randint(1, _MOST_TABLES) + 1):
                self._create_table(number)
            for _ in range(transactions):
                self._transact()
            self._leave_a_large_value_alone()

    def _create_table(self, number: int) -> None:
        rng = self._rng
        table = _Table(rng.choice(_SCHEMAS), f"{rng.choice(NAMES)[:55]}_{number}")
        names = rng.sample(NAMES, rng.randint(1, _MOST_COLUMNS))
        table.columns = {name: self._pick_type() for name in names}
        key_names = [name for name, type_name in table.columns.items() if type_name in KEY_TYPES]
        table.keys = frozenset(rng.sample(key_names, min(len(key_names), rng.randint(0, 2))))
        definitions = [self._define(name, type_name) for name, type_name in table.columns.items()]
        if table.keys:
            named = sql.SQL(", ").join(map(sql.Identifier, sorted(table.keys)))
            definitions.append(sql.SQL("PRIMARY KEY ({})").format(named))
        self._execute("CREATE TABLE {} ({})", table.identifier, sql.SQL(", ").join(definitions))
        self._tables.append(table)
        self._set_identity(table)
        self._store_outside(table)

    def _pick_type(self) -> str:
        """Text more often: it is what is kept outside of a row, and what quotes are for."""
        return "text" if self._rng.random() < 0.25 else self._rng.choice(self._types)

    def _leave_a_large_value_alone(self) -> None:
        """Whatever chance did: every history has an update that does not send all of its row."""
        table, number = sql.Identifier(self._rng.choice(_SCHEMAS), "large"), sql.Literal(self._rng.randint(1, 9))
        self._execute("CREATE TABLE {} (id int PRIMARY KEY, n int, large text, {})", table, self._define("x", "text"))
        self._execute("ALTER TABLE {} ALTER large SET STORAGE EXTERNAL", table)
        self._execute("INSERT INTO {} VALUES (1, 1, {})", table, sql.Literal("x" * 9_000))
        self._execute("UPDATE {} SET n = n + {}", table, number)
        self._execute("UPDATE {} SET id = id + {}, x = 'y'", table, number)

    def _define(self, name: str, type_name: str) -> sql.Composed:
        return sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(type_name))

    def _set_identity(self, table: _Table) -> None:
        """Without a key the whole row is sent; with one, that now and then."""
        if not table.keys or self._rng.random() < 0.3:
            self._execute("ALTER TABLE {} REPLICA IDENTITY FULL", table.identifier)

    def _store_outside(self, table: _Table) -> None:
        for name, type_name in table.columns.items():
            if type_name in ("text", "words"):
                self._execute("ALTER TABLE {} ALTER {} SET STORAGE EXTERNAL", table.identifier, sql.Identifier(name))

    def _transact(self, depth: int = 0) -> None:
        """A transaction, or a savepoint within one. With a rollback the tables are again as they were."""
        before = [replace(each, columns=dict(each.columns)) for each in self._tables]
        try:
            with self._conn.transaction():
                self._do_steps(depth)
                if self._rng.random() < _ROLLED_BACK[depth > 0]:
                    raise _RolledBackError
        except _RolledBackError:
            self._tables = before

    def _do_steps(self, depth: int) -> None:
        for _ in range(self._rng.randint(1, _MOST_STEPS)):
            if depth < _DEEPEST and self._rng.random() < 0.15:
                self._transact(depth + 1)
            else:
                self._try(self._rng.choice(self._deeds()))

    def _deeds(self) -> list[Callable[[_Table], None]]:
        usual: list[Callable[[_Table], None]] = [
            *[self._insert] * 6,
            *[self._update] * 4,
            self._delete,
            self._delete,
            self._emit,
        ]
        ddl = [self._truncate, self._add_column, self._drop_column, self._rename_column, self._set_identity]
        return [*usual, *ddl] if self._with_ddl else usual

    def _try(self, deed: Callable[[_Table], None]) -> None:
        with suppress(psycopg.Error), self._conn.transaction():
            deed(self._rng.choice(self._tables))

    def _insert(self, table: _Table) -> None:
        for _ in range(self._rng.randint(1, 3)):
            names = list(table.columns)
            values = [self._make(table, name) for name in names]
            into, shown = sql.SQL(", ").join(map(sql.Identifier, names)), sql.SQL(", ").join(values)
            self._execute("INSERT INTO {} ({}) VALUES ({})", table.identifier, into, shown)

    def _update(self, table: _Table) -> None:
        names = self._rng.sample(list(table.columns), self._rng.randint(1, min(3, len(table.columns))))
        changes = [sql.SQL("{} = {}").format(sql.Identifier(name), self._make(table, name)) for name in names]
        self._execute("UPDATE {} SET {} WHERE {}", table.identifier, sql.SQL(", ").join(changes), self._some_row(table))

    def _delete(self, table: _Table) -> None:
        self._execute("DELETE FROM {} WHERE {}", table.identifier, self._some_row(table))

    def _truncate(self, table: _Table) -> None:
        if self._rng.random() < 0.3:  # else there would never be much in it
            others = self._rng.sample(self._tables, self._rng.randint(1, len(self._tables)))
            named = sql.SQL(", ").join(each.identifier for each in others)
            option = sql.SQL(self._rng.choice(["", "CASCADE", "RESTART IDENTITY", "RESTART IDENTITY CASCADE"]))
            self._execute("TRUNCATE {} {}", named, option)

    def _emit(self, _: _Table) -> None:
        content = self._rng.choice(["", "{}", "content:", "it's\nhere"])
        self._execute("SELECT pg_logical_emit_message(true, {}, {})", sql.Literal("random"), sql.Literal(content))

    def _add_column(self, table: _Table) -> None:
        self._number += 1
        name, type_name = f"Added {self._number}", self._pick_type()
        default = sql.Literal(make_value(self._rng, type_name))
        self._execute("ALTER TABLE {} ADD {} DEFAULT {}", table.identifier, self._define(name, type_name), default)
        table.columns[name] = type_name

    def _drop_column(self, table: _Table) -> None:
        free = [name for name in table.columns if name not in table.keys]
        if len(free) > 1:
            name = self._rng.choice(free)
            self._execute("ALTER TABLE {} DROP {}", table.identifier, sql.Identifier(name))
            del table.columns[name]

    def _rename_column(self, table: _Table) -> None:
        free = [name for name in table.columns if name not in table.keys]
        if free:
            self._number += 1
            name, new = self._rng.choice(free), f'Re"named" {self._number}'
            old, wanted = sql.Identifier(name), sql.Identifier(new)
            self._execute("ALTER TABLE {} RENAME {} TO {}", table.identifier, old, wanted)
            table.columns = {new if each == name else each: kind for each, kind in table.columns.items()}

    def _some_row(self, table: _Table) -> sql.Composed:
        place = sql.Literal(self._rng.randint(0, 9))
        found = "ctid = (SELECT ctid FROM {} ORDER BY ctid LIMIT 1 OFFSET {} % greatest(1, (SELECT count(*) FROM {})))"
        return sql.SQL(found).format(table.identifier, place, table.identifier)

    def _make(self, table: _Table, name: str) -> sql.Composed:
        """Cast, so that a text is taken for what the column is; keys of a wide kind repeat seldom."""
        type_name = table.columns[name]
        value = self._make_key(type_name) if name in table.keys else make_value(self._rng, type_name)
        return sql.SQL("{}::{}").format(sql.Literal(value), sql.SQL(type_name))

    def _make_key(self, type_name: str) -> str | None:
        self._number += 1
        match type_name:
            case "integer" | "bigint" | "numeric":
                return str(self._number)
            case "text" | "varchar(40)":
                return f"key '{self._number}"
            case _:
                return make_value(self._rng, type_name, may_be_null=False)

    def _execute(self, statement: str, *parts: sql.Composable) -> list[Row]:
        cursor = self._conn.execute(sql.SQL(statement).format(*parts))
        return cursor.fetchall() if cursor.description else []
