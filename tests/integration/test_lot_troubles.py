"""While the lot cannot be written the relay holds and says so; nothing is confirmed, nothing is lost, others flow."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.fixtures.fix_kafka import KafkaBroker
from tests.fixtures.fix_proxy import MakeProxy
from tests.fixtures.fix_relay import Pipeline
from tests.fixtures.outbox import insert_event
from tests.fixtures.parked import end_lsn, logged, parked, readiness, run_dlq, wait_for_parked, wait_for_status
from tests.fixtures.process import wait_until
from tests.integration.lot_trouble_rig import (
    RAISE,
    TABLE,
    Ground,
    hear_status_updates,
    wait_confirmed,
    wait_holding,
    wait_streaming,
)

pytestmark = [pytest.mark.kafka, pytest.mark.real_kafka]


@pytest.fixture
def ground(pipeline: Pipeline, make_proxy: MakeProxy) -> Ground:
    return Ground(pipeline, make_proxy("127.0.0.1", pipeline.database.server.port))


@dataclass(frozen=True)
class Trouble:
    begin: Callable[[Ground], None]
    repair: Callable[[Ground], None]
    reason: str  # words of what the relay says
    remedy: str


def statements(begin: str, repair: str, *, reason: str, remedy: str) -> Trouble:
    return Trouble(lambda ground: ground.sql(begin), lambda ground: ground.sql(repair), reason, remedy)


TROUBLES = {
    "no right to insert": statements(
        f"REVOKE INSERT ON {TABLE} FROM {{role}}",
        f"GRANT INSERT ON {TABLE} TO {{role}}",
        reason="permission denied for table parked_records",
        remedy="GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA cdc_relay",
    ),
    "disk full": statements(
        RAISE.format(sqlstate="53100", event="INSERT", when=""),
        f"DROP TRIGGER refuse ON {TABLE}",
        reason="could not extend file",
        remedy="free space on the database server's disk",
    ),
    "value refused": statements(
        f"ALTER TABLE {TABLE} ADD CONSTRAINT nothing CHECK (false) NOT VALID",
        f"ALTER TABLE {TABLE} DROP CONSTRAINT nothing",
        reason="a value was refused (SQLSTATE 23514)",
        remedy="tried again",
    ),
    "table renamed": statements(
        f"ALTER TABLE {TABLE} RENAME TO elsewhere",
        "ALTER TABLE cdc_relay.elsewhere RENAME TO parked_records",
        reason="does not exist",
        remedy="cdc-relay setup",
    ),
    "table locked": Trouble(Ground.lock, Ground.unlock, "lock timeout", "end that transaction"),
    "connection lost": Trouble(
        Ground.cut, lambda ground: ground.proxy.accept(), "Postgres is not reachable", "network of parking.dsn"
    ),
}


@pytest.fixture(params=TROUBLES)
def trouble(request: pytest.FixtureRequest) -> Trouble:
    return TROUBLES[request.param]


def test_a_record_that_cannot_be_parked_is_not_confirmed_holds_nobody_else_and_is_parked_after_the_repair(
    trouble: Trouble, ground: Ground
) -> None:
    relay = ground.start()
    before = end_lsn(ground.database)
    trouble.begin(ground)
    bad = ground.insert_bad()
    good = ground.insert_good(20)
    end = end_lsn(ground.database)
    ground.pipeline.wait_for_records(20)
    wait_holding(relay, trouble.reason)
    hear_status_updates(ground.pipeline)
    assert ground.pipeline.confirmed_lsn() <= before
    assert trouble.remedy in logged(relay, "lot_trouble")[-1]["remedy"]

    trouble.repair(ground)
    wait_confirmed(ground, end)
    assert parked(ground.database, "event_id, status") == [(bad[0], "dead")]
    assert ground.delivered() == good
    wait_streaming(relay)
    assert relay.stop() == 0


def test_a_trouble_is_logged_when_it_begins_and_not_at_every_try(ground: Ground) -> None:
    relay = ground.start()
    trouble = TROUBLES["no right to insert"]
    trouble.begin(ground)
    ground.insert_bad()
    wait_until(lambda: float(readiness(relay)["since_seconds"]) > 5, timeout=60, what="some tries were made")
    assert readiness(relay)["state"] == "holding"
    assert len(logged(relay, "lot_trouble")) == 1


def test_a_stop_while_the_lot_cannot_be_written_loses_nothing(ground: Ground) -> None:
    relay = ground.start(delivery={"drain": "1s"})
    trouble = TROUBLES["no right to insert"]
    trouble.begin(ground)
    bad = ground.insert_bad(3)
    wait_holding(relay, trouble.reason)
    assert relay.stop() == 1  # what is open is not settled
    assert parked(ground.database) == []
    trouble.repair(ground)
    relay.start().wait_ready()
    wait_for_parked(ground.database, 3)
    assert [event_id for (event_id,) in parked(ground.database, "event_id")] == bad


def test_other_records_flow_as_long_as_the_window_has_room(ground: Ground) -> None:
    relay = ground.start(delivery={"window": {"records": 20}})
    trouble = TROUBLES["no right to insert"]
    trouble.begin(ground)
    bad = ground.insert_bad(15)
    good = ground.insert_good(50)
    ground.pipeline.wait_for_records(50)
    bad += ground.insert_bad(10)
    late = ground.insert_good(10)
    end = end_lsn(ground.database)
    wait_until(lambda: readiness(relay)["open_records"] == 20, timeout=60, what="the window is full")
    hear_status_updates(ground.pipeline)
    assert ground.delivered() == good
    assert readiness(relay)["open_records"] == 20

    trouble.repair(ground)
    wait_confirmed(ground, end)
    assert [event_id for (event_id,) in parked(ground.database, "event_id")] == bad
    assert ground.delivered() == good + late


def test_at_its_limit_the_lot_takes_no_more_until_there_is_room(ground: Ground) -> None:
    relay = ground.start(parking={"limit": {"records": 5}})
    ground.insert_bad(5)
    wait_for_parked(ground.database, 5)
    before = end_lsn(ground.database)
    ground.insert_bad(3)
    good = ground.insert_good(20)
    end = end_lsn(ground.database)
    ground.pipeline.wait_for_records(20)
    wait_holding(relay, "the lot is full")
    hear_status_updates(ground.pipeline)
    assert len(parked(ground.database)) == 5
    assert ground.pipeline.confirmed_lsn() <= before
    assert "parking.limit" in logged(relay, "lot_trouble")[-1]["remedy"]

    run_dlq(relay, "discard", "--all", "--reason", "a test", "--yes")
    wait_confirmed(ground, end)
    assert [status for (status,) in parked(ground.database)] == ["discarded"] * 5 + ["dead"] * 3
    assert ground.delivered() == good
    wait_streaming(relay)


def test_the_limit_counts_bytes_too(ground: Ground) -> None:
    relay = ground.start(parking={"limit": {"bytes": "10KiB"}})
    with ground.database.connect() as conn:
        insert_event(conn, "not/allowed", payload=json.dumps({"pad": "x" * 20_000}))
    wait_for_parked(ground.database, 1)  # larger than the limit, and yet it must go somewhere
    ground.insert_bad()
    wait_holding(relay, "the lot is full")
    run_dlq(relay, "discard", "--all", "--reason", "a test", "--yes")
    wait_for_parked(ground.database, 2)


def test_connections_that_are_killed_again_and_again_cost_no_record_and_make_no_second_row(ground: Ground) -> None:
    ground.start()
    bad: list[str] = []
    for _ in range(10):
        bad += ground.insert_bad(10)
        ground.proxy.cut()
    end = end_lsn(ground.database)
    wait_confirmed(ground, end)
    assert [event_id for (event_id,) in parked(ground.database, "event_id")] == bad


def test_a_record_published_from_the_lot_is_not_published_again_because_it_cannot_be_written_down(
    ground: Ground,
) -> None:
    pipeline = ground.pipeline
    assert isinstance(pipeline.kafka, KafkaBroker)
    pipeline.kafka.configure_topic(pipeline.topic, max_message_bytes="1000")
    retry = {"base": "500ms", "max": "500ms", "max_retries": 1000}
    relay = ground.start(delivery={"retry": retry})
    pipeline.insert(payload=json.dumps({"id": "large", "pad": "x" * 5000}))
    wait_for_status(ground.database, ["retrying"])
    ground.sql(RAISE.format(sqlstate="53100", event="UPDATE", when="WHEN (NEW.status = 'published')"))
    pipeline.kafka.configure_topic(pipeline.topic, max_message_bytes="100000")
    pipeline.wait_for_records(1)
    wait_holding(relay, "could not extend file")
    hear_status_updates(pipeline)
    ground.sql(f"DROP TRIGGER refuse ON {TABLE}")
    wait_for_status(ground.database, ["published"])
    wait_streaming(relay)
    assert ground.delivered() == ["large"]


# --- at the start


def test_a_role_that_may_not_write_the_lot_is_refused_with_the_grant_it_needs(ground: Ground) -> None:
    ground.sql(f"REVOKE INSERT ON {TABLE} FROM {{role}}")
    relay = ground.start(ready=False)
    assert relay.wait(60) == 3
    assert f'GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA cdc_relay TO "{ground.role}"' in relay.stderr
