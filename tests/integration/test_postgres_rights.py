"""The rights of docs/privileges.md in Postgres, each taken away before a start: refused with the right that is missing
and the statement that gives it; after the repair what was committed meanwhile arrives.

REPLICATION: test_bad_starts.py. INSERT on the lot while it runs: test_lot_troubles.py. DELETE: test_retention_lot.py.
"""

from __future__ import annotations

import pytest

from tests.fixtures.fix_relay import Pipeline
from tests.integration.waiting_rig import assert_it_delivers

pytestmark = pytest.mark.kafka

TABLES = {
    "guard": ("SELECT", "INSERT", "UPDATE"),
    "gaps": ("SELECT", "INSERT"),
    "parked_records": ("SELECT", "INSERT", "UPDATE"),
    "runs": ("SELECT", "INSERT", "UPDATE"),
}
LACKS = [f"{right} ON cdc_relay.{table}" for table, rights in TABLES.items() for right in rights]
NEEDED = {
    "USAGE ON SCHEMA cdc_relay": "permission denied for schema cdc_relay",
    "SELECT ON cdc_relay.schema_version": "permission denied for table schema_version",
    "SELECT ON cdc_relay.replays": "permission denied for table replays",
    **{right: f"it lacks {right}" for right in LACKS},
}


def refusal_without(pipeline: Pipeline, right: str) -> str:
    """The last words of a start without it; then it is there again."""
    pipeline.database.execute(f"REVOKE {right} FROM {pipeline.role}")
    relay = pipeline.start_relay("--no-wait", ready=False)
    code = relay.wait(60)
    pipeline.database.execute(f"GRANT {right} TO {pipeline.role}")
    assert code == 3, f"{right}: {relay.stderr}"
    return relay.stderr


def test_each_right_that_is_missing_is_named_with_its_grant_and_nothing_is_lost(pipeline: Pipeline) -> None:
    event_id = pipeline.insert()
    said = {right: refusal_without(pipeline, right) for right in NEEDED}
    assert [right for right, cause in NEEDED.items() if cause not in said[right]] == []
    grant = "GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA cdc_relay TO "
    assert [right for right in NEEDED if grant not in said[right].partition("what to do: ")[2]] == []
    pipeline.start_relay()
    assert_it_delivers(pipeline, event_id)


def test_without_connect_the_grant_is_named_and_nothing_is_lost(pipeline: Pipeline) -> None:
    database, event_id = pipeline.database, pipeline.insert()
    database.execute(f"REVOKE CONNECT ON DATABASE {database.name} FROM PUBLIC")
    relay = pipeline.start_relay(ready=False)
    assert relay.wait(60) == 3
    assert f'permission denied for database "{database.name}"' in relay.stderr
    assert "what to do: GRANT CONNECT ON DATABASE" in relay.stderr

    database.execute(f"GRANT CONNECT ON DATABASE {database.name} TO {pipeline.role}")
    pipeline.start_relay()
    assert_it_delivers(pipeline, event_id)


def test_without_delete_on_the_lot_it_runs(pipeline: Pipeline) -> None:
    pipeline.database.execute(f"REVOKE DELETE ON cdc_relay.parked_records FROM {pipeline.role}")
    pipeline.start_relay()
    assert_it_delivers(pipeline, pipeline.insert())
