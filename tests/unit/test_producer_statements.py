"""The statements of the SDK: identifiers read as the relay reads them, few statements for many events, no imports."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy
from hypothesis import given, settings
from hypothesis import strategies as st

import cdc_relay.outbox as sdk
from cdc_relay.config import names as relay_names
from cdc_relay.config.outbox import ColumnsConfig
from cdc_relay.outbox import Event, Outbox, OutboxError, UnknownConnectionError, emit, emit_async
from cdc_relay.outbox.names import read_column, read_table
from tests.unit.producer_rig import event, statements

SPELLED = st.text('abzAZ_09$". %:\\éÄ\0\u2028', max_size=12) | st.from_regex(
    r'\A("[^\0]*"|\w+)(\.("[^"\0]*"|\w+)){0,2}\Z'
)


# --- nothing but the standard library


def test_importing_it_imports_the_standard_library_alone() -> None:
    program = "import sys; import cdc_relay.outbox; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    unmeasured = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    answer = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True, timeout=60, env=unmeasured
    )
    foreign = set(answer.stdout.split()) - set(sys.stdlib_module_names) - {"cdc_relay", "__main__"}
    assert {name for name in foreign if not name.startswith(("_", "sitecustomize"))} == set()


def test_of_this_project_it_imports_itself_alone() -> None:
    program = (
        "import sys; import cdc_relay.outbox; print(*sorted(name for name in sys.modules if 'cdc_relay.' in name))"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert all(name.startswith("cdc_relay.outbox") for name in answer.stdout.split())


def test_a_copy_under_another_name_works_without_the_project(tmp_path: Path) -> None:
    shutil.copytree(Path(sdk.__file__).parent, tmp_path / "service" / "events")
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from service.events import Event, Outbox, emit;"
        " print(*(name for name in sys.modules if name.startswith('cdc_relay')))"
    )
    run = [sys.executable, "-I", "-c", program]
    assert subprocess.run(run, capture_output=True, text=True, check=True, timeout=60).stdout.strip() == ""


# --- names


@settings(deadline=None)
@given(SPELLED)
def test_a_table_is_read_as_the_relay_reads_it(spelled: str) -> None:
    found = outcome(lambda: relay_names.parse_table(spelled))
    assert outcome(lambda: read_table(spelled)) == (found and (found.schema, found.name))


@settings(deadline=None)
@given(SPELLED)
def test_a_column_is_read_as_the_relay_reads_it(spelled: str) -> None:
    assert outcome(lambda: read_column(spelled)) == outcome(lambda: relay_names.parse_identifier(spelled))


def outcome(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except (OutboxError, ValueError):
        return None


def test_the_default_columns_are_those_of_the_relay() -> None:
    relay = ColumnsConfig()
    assert {role: Outbox().names[role] for role in ("id", "key", "type", "payload")} == {
        "id": relay.id,
        "key": relay.key,
        "type": relay.type,
        "payload": relay.payload,
    }
    assert set(Outbox().names) - {"aggregatetype"} <= set(ColumnsConfig.model_fields)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"table": "public.outbox; DROP TABLE orders"}, "not an SQL identifier"),
        ({"table": "a.b.c"}, "expected table or schema.table"),
        ({"table": ""}, "not an SQL identifier"),
        ({"table": '"\ud800"'}, "not an SQL identifier"),
        ({"table": "x" * 64}, "longer than 63 bytes"),
        ({"table": "t", "message_prefix": "p"}, "an outbox is one of the two"),
        ({"message_prefix": ""}, "message_prefix must be text"),
        ({"message_prefix": "p", "keep": False}, "keep=False is for tables"),
        ({"columns": {"kex": "a"}}, "columns has kex; there are id, aggregatetype, key"),
        ({"columns": {"key": None}}, "columns.key is None; only aggregatetype may be"),
        ({"columns": {"key": "a.b"}}, "expected the name of a column"),
        ({"columns": {"key": "id"}}, "columns: id and key are the same column"),
    ],
)
def test_an_outbox_that_makes_no_sense_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(OutboxError, match=said):
        Outbox(**given)


# --- statements


def test_identifiers_are_quoted_and_percent_signs_doubled_where_the_driver_reads_them() -> None:
    outbox = Outbox(table='"a%""b".t', columns={"key": '"100%"'})
    [(format_sql, _)] = statements(event(), outbox=outbox)
    assert format_sql == (
        'INSERT INTO "a%%""b"."t" ("id", "aggregatetype", "100%%", "type", "payload") VALUES (%s, %s, %s, %s, %s)'
    )
    [(numbered_sql, _)] = statements(event(), outbox=outbox, numbered=True)
    assert numbered_sql == (
        'INSERT INTO "a%""b"."t" ("id", "aggregatetype", "100%", "type", "payload") VALUES ($1, $2, $3, $4, $5)'
    )


def test_many_events_are_few_statements_in_their_order() -> None:
    events = [event(key=str(number)) for number in range(1001)]
    written = statements(*events)
    assert [len(parameters) // 5 for _, parameters in written] == [500, 500, 1]
    assert [parameter for _, parameters in written for parameter in parameters[2::5]] == [each.key for each in events]


def test_events_with_different_columns_keep_their_order() -> None:
    """In statements of their own: a column that is not given keeps its default."""
    written = statements(event(key="a"), event(key="b", correlation_id="c"), event(key="c"))
    assert [parameters[2] for _, parameters in written] == ["a", "b", "c"]


def test_no_events_are_no_statements() -> None:
    assert statements() == statements(outbox=Outbox(message_prefix="p")) == statements(outbox=Outbox(keep=False)) == []


def test_rows_that_are_not_kept_are_deleted_by_their_ids() -> None:
    first, second = event(), event()
    [_, (sql, parameters)] = statements(first, second, outbox=Outbox(keep=False))
    assert sql == 'DELETE FROM "public"."outbox" WHERE "id" IN (%s, %s)'
    assert parameters == (str(first.id), str(second.id))


def test_a_time_is_text_in_utc_unless_the_driver_wants_it_otherwise() -> None:
    at = datetime(2026, 1, 31, tzinfo=UTC)
    assert statements(event(scheduled_at=at))[0].parameters[-1] == "2026-01-31T00:00:00+00:00"
    assert statements(event(scheduled_at=at), numbered=True)[0].parameters[-1] == at


def test_a_table_without_an_aggregate_type_needs_none() -> None:
    given = Event(key="k", type="T", payload={}, id=UUID(int=1))
    [(_, parameters)] = statements(given, outbox=Outbox(columns={"aggregatetype": None}))
    assert parameters == (str(given.id), "k", "T", "{}")


# --- connections


@pytest.mark.parametrize("conn", [None, object(), "postgresql://localhost", 7])
def test_what_is_no_connection_is_said(conn: Any) -> None:
    with pytest.raises(UnknownConnectionError, match="is not taken; expected a connection or cursor of psycopg 3"):
        emit(conn, event())


class OfAnotherLibrary:
    """As asyncpg's."""

    async def execute(self, query: str) -> None: ...


@pytest.mark.parametrize("conn", [object(), OfAnotherLibrary()])
def test_what_is_no_asynchronous_connection_is_said(conn: Any) -> None:
    awaited = emit_async(conn, event())
    with pytest.raises(UnknownConnectionError, match="is not taken; expected an AsyncConnection"):
        awaited.send(None)


def test_another_database_than_postgres_is_refused() -> None:
    with (
        sqlalchemy.create_engine("sqlite://").begin() as conn,
        pytest.raises(UnknownConnectionError, match="the connection is to sqlite; the relay reads Postgres"),
    ):
        emit(conn, event())
