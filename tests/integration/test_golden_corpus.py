"""A real server prints the corpus of the golden files as the corpus says: the files are about Postgres' values."""

from __future__ import annotations

from cdc_relay.sources.slot import PINNED_SETTINGS
from tests.fixtures.fix_postgres import Database
from tests.golden.corpus import CASES, PREPARE, USER_DEFINED

FIRST_USER_OID = 16384


def test_postgres_prints_the_corpus_as_it_is_written_down(database: Database) -> None:
    database.execute(PREPARE)
    with database.connect() as connection:
        for name, value in PINNED_SETTINGS.items():
            connection.execute(f"SET {name} = '{value}'".encode())
        for case in CASES:
            result = connection.pgconn.exec_(f"SELECT {case.sql}".encode())
            assert result.get_value(0, 0) == case.printed, (case.name, result.error_message)
            oid = result.ftype(0)  # of a domain its base type, as in the stream
            assert (USER_DEFINED if oid >= FIRST_USER_OID else oid) == case.type_oid, case.name
            assert case.type_oid == USER_DEFINED or result.fmod(0) == case.type_modifier, case.name
