"""The roles of docs/privileges.md may do what the document says, and no more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from psycopg import pq

from cdc_relay.config import load
from cdc_relay.sources.catalog import read_facts
from cdc_relay.sources.line import Line
from cdc_relay.sources.preflight import find_problems
from cdc_relay.target import conninfo_of, wanted_of
from tests.fixtures.fix_postgres import Database
from tests.fixtures.process import wait_until
from tests.integration.lots import due, make_entry
from tests.integration.setup_rig import OUTBOX, ROOT, ROW, Setup, give_to_owner, open_lot

pytestmark = pytest.mark.core


@pytest.fixture
def setup(database: Database, tmp_path: Path) -> Setup:
    database.execute(OUTBOX.format("public.outbox"))
    return Setup(database, tmp_path / "relay.yaml")


@pytest.fixture
def documented_role(setup: Setup) -> Iterator[str]:
    """The table in a schema closed to all, set up, and the role made by the SQL of docs/privileges.md."""
    database, role = setup.database, f"{setup.database.name}_relay"
    database.execute(f"REVOKE ALL ON DATABASE {database.name} FROM PUBLIC")
    database.execute("CREATE SCHEMA closed")
    database.execute("ALTER TABLE public.outbox SET SCHEMA closed")
    setup.tables = ["closed.outbox"]
    assert setup().exit_code == 0
    for statement in documented_sql("## run").split(";\n"):
        database.execute(re.sub(r"\brelay\b", role, re.sub(r"\borders\b", database.name, statement)))
    yield role
    database.execute(f"DROP OWNED BY {role}")
    database.execute(f"DROP ROLE {role}")


def documented_sql(heading: str) -> str:
    text = (ROOT / "docs" / "privileges.md").read_text(encoding="utf-8")
    return text.partition(f"\n{heading}\n")[2].partition("```sql\n")[2].partition("```")[0].strip()


def test_the_documented_role_passes_the_checks_of_run(setup: Setup, documented_role: str) -> None:
    setup.dsn = setup.database.dsn(documented_role)
    setup("--print")  # writes the file
    config = load(setup.path)
    wanted = wanted_of(config)
    with closing(Line.open(conninfo_of(config))) as line:
        facts = read_facts(line, slot=wanted.slot, publication=wanted.publication, tables=[("closed", "outbox")])
    assert list(find_problems(facts, wanted)) == []


def test_the_documented_role_reads_the_slot_without_rights_on_the_table(setup: Setup, documented_role: str) -> None:
    setup.database.execute(f"INSERT INTO closed.outbox VALUES {ROW}")
    line = pq.PGconn.connect(setup.database.dsn(documented_role, replication="database").encode())
    try:
        options = f"proto_version '1', publication_names '{setup.publication}'"
        started = line.exec_(f"START_REPLICATION SLOT {setup.slot} LOGICAL 0/0 ({options})".encode())
        assert started.status == pq.ExecStatus.COPY_BOTH, started.get_error_message()
        wait_until(lambda: b"aggregatetype" in bytes(line.get_copy_data(0)[1]), timeout=30, what="the row arrives")
    finally:
        line.finish()
    with pytest.raises(psycopg.errors.InsufficientPrivilege), setup.database.connect(user=documented_role) as conn:
        conn.execute("SELECT FROM closed.outbox")


def test_the_documented_role_may_use_the_lot_and_delete_nothing_else(setup: Setup, documented_role: str) -> None:
    with closing(open_lot(setup.database.dsn(documented_role))) as lot:
        lot.take_over(0)
        lot.park([make_entry(1)])
        assert len(due(lot)) == 1
        lot.end_run()
    with setup.database.connect(user=documented_role) as conn:
        conn.execute("DELETE FROM cdc_relay.parked_records")  # retention
        for table in ("guard", "gaps", "replays", "runs", "schema_version"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                conn.execute(f"DELETE FROM cdc_relay.{table}")


def test_the_documented_person_on_call_may_change_the_lot(setup: Setup) -> None:
    assert setup().exit_code == 0
    role = setup.database.create_role("NOLOGIN")
    statements = [each for each in documented_sql("## dlq").split(";\n") if not each.startswith("CREATE ROLE")]
    for statement in statements:
        setup.database.execute(re.sub(r"\bon_call\b", role, re.sub(r"\borders\b", setup.database.name, statement)))
    setup.database.execute(f"ALTER ROLE {role} LOGIN")
    with setup.database.connect(user=role) as conn:
        conn.execute("SELECT FROM cdc_relay.dead_letters")
        conn.execute("UPDATE cdc_relay.parked_records SET status = 'discarded'")


def test_the_documented_owner_may_run_setup(setup: Setup) -> None:
    role = give_to_owner(setup, "LOGIN")
    for statement in documented_sql("## setup").split(";\n"):
        setup.database.execute(statement.replace("orders_owner", role).replace("orders", setup.database.name))
    assert setup().exit_code == 0
