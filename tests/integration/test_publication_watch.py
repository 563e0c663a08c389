"""A publication that changes under a running relay (promise 12): noticed, and nothing is confirmed past the change.

The relay looks every 10 s; so that the tests do not wait one after the other, all changes are made at once, each in a
database of its own with a relay of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fixtures.fix_kafka import Kafka
from tests.fixtures.fix_postgres import Database, PostgresServer
from tests.fixtures.fix_relay import MakeRelay, Pipeline, RelayProcess
from tests.fixtures.process import wait_until
from tests.fixtures.relay_process import Config

pytestmark = [pytest.mark.core, pytest.mark.kafka]

ROW = "INSERT INTO outbox VALUES (gen_random_uuid(), '{aggregate_type}', 'k', 'T', '{{}}')"
OTHER_ROW = "INSERT INTO other SELECT generate_series(1, 100)"
CREATE = "CREATE PUBLICATION {publication} FOR TABLE outbox WITH (publish = 'insert', publish_via_partition_root)"
HARMFUL = {
    "dropped": ["DROP PUBLICATION {publication}", ROW],
    "dropped and recreated": ["DROP PUBLICATION {publication}", ROW, CREATE],
    "table taken out": ["ALTER PUBLICATION {publication} DROP TABLE outbox", ROW],
    "table taken out and put back": [
        "ALTER PUBLICATION {publication} DROP TABLE outbox",
        ROW,
        "ALTER PUBLICATION {publication} ADD TABLE outbox",
    ],
    "table recreated and put back": [
        "ALTER TABLE outbox RENAME TO old",
        "CREATE TABLE outbox (LIKE old)",
        ROW,
        "ALTER PUBLICATION {publication} ADD TABLE outbox",
    ],
    "row filter set": ["ALTER PUBLICATION {publication} SET TABLE outbox WHERE (aggregateid = 'only')", ROW],
    # without a row after it: a row that lacks its payload would stop the relay before the next look
    "columns listed": ["ALTER PUBLICATION {publication} SET TABLE outbox (id, aggregatetype, aggregateid, type)"],
    "inserts left out": ["ALTER PUBLICATION {publication} SET (publish = 'update, delete')", ROW],
}
HARMLESS = {
    "other tables come and go": [
        "ALTER PUBLICATION {publication} ADD TABLE other",
        OTHER_ROW,
        "ALTER PUBLICATION {publication} DROP TABLE other",
        "CREATE TABLE unrelated (n int)",
    ],
    "new leaves of a partitioned outbox": [
        "CREATE TABLE leaf_2 PARTITION OF parted FOR VALUES FROM ('k') TO ('l')",
        ROW.replace("outbox", "parted"),
    ],
    "updates and deletes": ["ALTER PUBLICATION {publication} SET (publish = 'insert, update, delete')", ROW],
}
# Before 18 a change that Postgres decodes without the publication fails, and always will.
UNDECODABLE = {"dropped", "dropped and recreated"}


@dataclass
class Watched:
    pipeline: Pipeline
    relay: RelayProcess
    lsn_before: int = 0  # WAL positions around the change
    lsn_after: int = 0

    def change(self, statements: list[str]) -> None:
        self.lsn_before = self.wal_lsn()
        names = {"publication": self.pipeline.publication, "aggregate_type": self.pipeline.aggregate_type}
        for statement in statements:
            self.pipeline.database.execute(statement.format(**names))
        self.lsn_after = self.wal_lsn()
        self.pipeline.database.execute(OTHER_ROW)

    def wal_lsn(self) -> int:
        [(lsn,)] = self.pipeline.database.execute("SELECT pg_current_wal_insert_lsn() - '0/0'")
        return int(lsn)

    def is_confirmed(self, lsn: int) -> bool:
        return self.pipeline.confirmed_lsn() >= lsn


@pytest.fixture(scope="module")
def watched(
    postgres: PostgresServer, kafka: Kafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Watched]]:
    """All relays, streaming, and all changes made."""
    cases: dict[str, Watched] = {}
    try:
        for name in [*HARMFUL, *HARMLESS]:
            cases[name] = start_case(Database(postgres), kafka, tmp_path_factory.mktemp("relay"))
        for case in cases.values():
            settle(case)
        for name, statements in {**HARMFUL, **HARMLESS}.items():
            cases[name].change(statements)
        yield cases
    finally:
        for case in cases.values():
            case.relay.kill()
            case.pipeline.database.drop()


def start_case(database: Database, kafka: Kafka, directory: Path) -> Watched:
    pipeline = Pipeline(database, kafka, relay_maker(directory))
    database.execute("CREATE TABLE other (n int)")
    database.execute(
        "CREATE TABLE parted (id uuid, aggregatetype text, aggregateid text, type text, payload jsonb)"
        " PARTITION BY RANGE (aggregateid)"
    )
    database.execute("CREATE TABLE leaf_1 PARTITION OF parted FOR VALUES FROM ('a') TO ('k')")
    database.execute(f"ALTER PUBLICATION {pipeline.publication} ADD TABLE parted")
    outboxes = [{"table": "public.outbox"}, {"table": "public.parted"}]
    return Watched(pipeline, pipeline.start_relay(ready=False, outboxes=outboxes))


def relay_maker(directory: Path) -> MakeRelay:
    def make(config: Config, *arguments: str) -> RelayProcess:
        return RelayProcess(config, directory, *arguments).start()

    return make


def settle(case: Watched) -> None:
    """A first row, delivered and confirmed: whatever comes later is not confirmed because of it."""
    case.relay.wait_ready(timeout=60)
    case.pipeline.insert("a")
    lsn = case.wal_lsn()
    wait_until(lambda: case.is_confirmed(lsn), timeout=60, what="the first row is confirmed")


@pytest.fixture(params=HARMFUL)
def harmed(request: pytest.FixtureRequest, watched: dict[str, Watched]) -> Watched:
    """A relay that has ended because of what was done to its publication."""
    case = watched[request.param]
    assert case.relay.wait(60) == 3, case.relay.stderr
    return case


@pytest.fixture(params=HARMLESS)
def unharmed(request: pytest.FixtureRequest, watched: dict[str, Watched]) -> Watched:
    """A relay that has looked at its publication since the change: an idle slot moves only after a look."""
    case = watched[request.param]
    wait_until(lambda: case.is_confirmed(case.lsn_after), timeout=60, what=f"the slot moves on\n{case.relay.stderr}")
    return case


def test_a_changed_publication_ends_the_relay_with_a_remedy(harmed: Watched) -> None:
    assert "cdc-relay: " in harmed.relay.stderr
    assert "what to do: " in harmed.relay.stderr
    assert "cdc-relay setup -c FILE" in harmed.relay.stderr
    assert "Traceback" not in harmed.relay.stderr


def test_nothing_is_confirmed_past_the_change(harmed: Watched) -> None:
    assert harmed.pipeline.confirmed_lsn() <= harmed.lsn_before


def test_the_message_names_the_range_in_which_rows_may_be_missing(
    harmed: Watched, request: pytest.FixtureRequest
) -> None:
    said = harmed.relay.stderr
    if harmed.pipeline.database.server.version < 18 and case_name(request) in UNDECODABLE:
        assert f'publication "{harmed.pipeline.publication}" does not exist' in said
        return
    place = r"LSN ([0-9A-F]+)/([0-9A-F]+) \(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\)"
    found = re.search(f"publication {harmed.pipeline.publication} changed .* between {place} and {place}", said)
    assert found, said
    high, low, later_high, later_low = (int(part, 16) for part in found.groups())
    assert high << 32 | low <= harmed.lsn_before
    assert later_high << 32 | later_low >= harmed.lsn_after


def test_what_concerns_no_outbox_is_harmless(unharmed: Watched) -> None:
    assert unharmed.relay.is_running


def test_rows_flow_on_after_a_harmless_change(unharmed: Watched) -> None:
    event_id = unharmed.pipeline.insert("last")
    wait_until(
        lambda: any(record.headers() == [("id", event_id.encode())] for record in unharmed.pipeline.records()),
        timeout=60,
        what="the row after the change is on the topic",
    )


def case_name(request: pytest.FixtureRequest) -> str:
    return str(request.node.callspec.params["harmed"])
