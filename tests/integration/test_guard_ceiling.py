"""The slot guard while all is well, and while it cannot be written: nothing is confirmed before it is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.fix_relay import Pipeline
from tests.fixtures.process import wait_until
from tests.integration.confirmation_rig import wait_until_confirmed, wal_lsn
from tests.integration.guard_rig import ceiling, has_guard, relay_role, wait_until_arrived
from tests.integration.printed_steps import last_words, printed_steps, take_first_steps

pytestmark = [pytest.mark.core, pytest.mark.kafka]


def test_after_a_clean_stop_slot_and_guard_agree(pipeline: Pipeline) -> None:
    relay = pipeline.start_relay()
    wait_until_arrived(pipeline, *(pipeline.insert() for _ in range(5)))
    assert relay.stop() == 0
    assert ceiling(pipeline) == pipeline.confirmed_lsn()


def test_a_slot_below_its_ceiling_is_normal_and_said(pipeline: Pipeline) -> None:
    """As after a crash, or a restart before Postgres 17."""
    relay = pipeline.start_relay()
    wait_until_arrived(pipeline, pipeline.insert())
    assert relay.stop() == 0
    pipeline.database.execute("UPDATE cdc_relay.guard SET ceiling = ceiling + 1000000")
    relay = pipeline.start_relay()
    assert "some events come twice" in relay.stderr
    wait_until_arrived(pipeline, pipeline.insert())


def test_the_slot_never_passes_the_ceiling_while_the_guard_cannot_be_written(pipeline: Pipeline) -> None:
    relay = pipeline.start_relay()
    pipeline.insert()
    wait_until_confirmed(pipeline, wal_lsn(pipeline))
    with pipeline.database.connect(autocommit=False) as conn:
        conn.execute("LOCK TABLE cdc_relay.guard IN EXCLUSIVE MODE")
        before = ceiling_seen(conn)
        ids = [pipeline.insert() for _ in range(20)]
        wait_until_arrived(pipeline, *ids)
        relay.wait_for_log("guard_trouble", timeout=60)
        assert pipeline.confirmed_lsn() <= before
        conn.rollback()
    wait_until_confirmed(pipeline, wal_lsn(pipeline))
    assert relay.stop() == 0
    assert len(pipeline.records()) == 21


def ceiling_seen(conn: Any) -> int:
    [(lsn,)] = conn.execute("SELECT ceiling - '0/0' FROM cdc_relay.guard")
    return int(lsn)


def test_a_right_that_is_taken_away_is_named_with_its_grant_and_nothing_is_confirmed_until_then(
    pipeline: Pipeline,
) -> None:
    relay = pipeline.start_relay()
    wait_until_arrived(pipeline, pipeline.insert())
    role = relay_role(pipeline)
    pipeline.database.execute(f"REVOKE UPDATE ON cdc_relay.guard FROM {role}")
    wait_until_arrived(pipeline, pipeline.insert())
    relay.wait_for_log("guard_trouble")
    relay.wait_for_log("the guard: ")
    [grants] = set(re.findall(r'"remedy": "(GRANT .*?[^\\])"', relay.stderr))
    for statement in grants.replace('\\"', '"').split(";"):
        pipeline.database.execute(statement)
    wait_until_confirmed(pipeline, wal_lsn(pipeline))


@pytest.mark.parametrize("damage", ["DROP TABLE cdc_relay.guard", "REVOKE INSERT ON cdc_relay.gaps FROM {role}"])
def test_a_guard_that_is_missing_or_closed_is_refused_and_its_remedy_repairs_it(
    pipeline: Pipeline, damage: str, tmp_path: Path
) -> None:
    relay = pipeline.start_relay()
    role = relay_role(pipeline)
    assert relay.stop() == 0
    pipeline.database.execute(damage.format(role=role))
    if "DROP" in damage:
        pipeline.database.execute("DELETE FROM cdc_relay.schema_version WHERE version = 5")
    [remedy] = printed_steps(last_words(relay.start()))
    take_first_steps(pipeline, [remedy.removeprefix("make it: ")], tmp_path)
    if "DROP" in damage:
        pipeline.database.grant_schema(role)  # the table is new: as docs/privileges.md says
    pipeline.start_relay()
    wait_until_arrived(pipeline, pipeline.insert())


def test_a_row_that_is_deleted_under_the_relay_is_begun_again(pipeline: Pipeline) -> None:
    relay = pipeline.start_relay()
    wait_until_arrived(pipeline, pipeline.insert())
    pipeline.database.execute("DELETE FROM cdc_relay.guard")
    wait_until_arrived(pipeline, pipeline.insert())
    wait_until(lambda: has_guard(pipeline), timeout=60, what="the guard has a row again")
    wait_until_confirmed(pipeline, wal_lsn(pipeline))
    assert relay.stop() == 0
