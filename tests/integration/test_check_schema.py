"""`cdc-relay check`, the guard and the lot: versions, rights, size, and what waits for an operator."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixtures.fix_relay import Pipeline
from tests.integration.check_rig import Check

pytestmark = pytest.mark.kafka

DEAD = """
INSERT INTO cdc_relay.parked_records (slot, status, reason, outbox, commit_lsn, ordinal, commit_time, xid, route, topic,
                                      record_time, strict, hold_dead, size_bytes, max_attempts, error_code, error_class)
SELECT %s, 'dead', 'failure', 'public.outbox', '0/1', n, now(), 1, 'r', 't', now(), false, false, 100, 5, 'X',
       'permanent'
  FROM generate_series(1, %s) AS n
"""


@pytest.fixture
def check(pipeline: Pipeline, tmp_path: Path) -> Check:
    return Check.without_kafka(pipeline, tmp_path)


@pytest.mark.parametrize("name", ["guard", "lot"])
def test_a_schema_that_is_not_there_is_made_by_the_printed_command(pipeline: Pipeline, check: Check, name: str) -> None:
    pipeline.database.execute("DROP SCHEMA cdc_relay CASCADE")
    check.apply(check.bad(name, "fail"))
    assert "permission denied" in check.repair(name, "fail")["found"]  # the relay's role has no right on what is new


@pytest.mark.core
@pytest.mark.parametrize("name", ["guard", "lot"])
def test_rights_that_are_missing_are_granted_as_printed(pipeline: Pipeline, tmp_path: Path, name: str) -> None:
    role = pipeline.database.create_role("LOGIN REPLICATION")
    check = Check.without_kafka(pipeline, tmp_path, dsn=pipeline.database.dsn(role))
    check.repair(name, "fail")
    table = {"guard": "cdc_relay.guard", "lot": "cdc_relay.runs"}[name]
    pipeline.database.execute(f"REVOKE UPDATE ON {table} FROM {role}")
    assert "UPDATE" in check.repair(name, "fail")["found"]


def test_a_lot_of_a_newer_version_fails(pipeline: Pipeline, check: Check) -> None:
    pipeline.database.execute("INSERT INTO cdc_relay.schema_version (version) VALUES (99)")
    assert "99" in check.bad("lot", "fail")["found"]
    pipeline.database.execute("DELETE FROM cdc_relay.schema_version WHERE version = 99")
    assert check.is_fine("lot")


def test_a_lot_elsewhere_is_looked_at_there(pipeline: Pipeline, check: Check) -> None:
    check.config["parking"] = {"dsn": pipeline.database.server.dsn("postgres")}
    assert "no tables" in check.bad("lot", "fail")["found"]
    assert check.is_fine("guard")


def test_a_lot_that_fills_up_is_warned_of(pipeline: Pipeline, check: Check) -> None:
    check.config["parking"] = {"limit": {"records": 10}}
    pipeline.database.execute(DEAD, [pipeline.slot, 8])
    assert "8 of 10 records" in check.repair("lot.size", "warn")["found"]


def test_dead_records_are_warned_of_until_somebody_retries_them_as_printed(pipeline: Pipeline, check: Check) -> None:
    pipeline.database.execute(DEAD, [pipeline.slot, 2])
    assert "2 records" in check.repair("lot.dead", "warn")["found"]
