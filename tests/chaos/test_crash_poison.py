"""A record that kills the process is parked as `crash` after three noted deaths, and the rest flows; what kills the
process from outside makes nobody a culprit."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from tests.chaos.observed import wait_for_state, wait_until_readiness
from tests.chaos.trial import make_judged_pipeline, trial
from tests.fixtures.consume import wait_for_records
from tests.fixtures.fix_kafka import KafkaBroker, MakeKafka
from tests.fixtures.fix_relay import MakePipeline, MakeRelay, Pipeline, RelayProcess
from tests.fixtures.numbered import NARROW, Numbered, nurse
from tests.fixtures.outbox import insert_event, insert_events
from tests.fixtures.process import wait_until

pytestmark = pytest.mark.kafka

POISON = "hemlock"
RETRY = {"base": "1s", "max": "1s", "jitter": 0, "max_retries": 1000}
MAX_DEATHS = 9  # two until it takes notes, one in a handful, three with the record noted alone; some slack
KILL_COUNT = 10
PATIENT = {"topic.metadata.propagation.max.ms": 600_000}  # a missing topic is taken for a new one, and waited for
A_WHILE = 200  # records
BACKLOG = 20_000  # a window's worth
CULPRIT = "SELECT status, error_class, error_code, length(remedy) > 20, event_type FROM cdc_relay.parked_records"


def start(make_relay: MakeRelay, pipeline: Pipeline, *, where: str, **config: Any) -> RelayProcess:
    order = json.dumps({"poison": POISON, "where": where})
    return make_relay(pipeline.config(**config), env={"SABOTAGE": order})


def insert(pipeline: Pipeline, number: int, *, poison: bool = False, due: str | None = None, pad: str = "") -> None:
    payload = json.dumps({"n": number, "pad": POISON + pad if poison else pad})
    columns, values = "id, aggregatetype, aggregateid, type, payload", "gen_random_uuid(), %s, %s, 'T', %s"
    if due is not None:
        columns, values = f"{columns}, scheduled_at", f"{values}, {due}"
    pipeline.database.execute(
        f"INSERT INTO outbox ({columns}) VALUES ({values})", [pipeline.aggregate_type, f"k{number % 3}", payload]
    )


def condemned(pipeline: Pipeline) -> bool:
    rows = pipeline.database.execute(CULPRIT)
    return [row[:4] for row in rows] == [("dead", "crash", "crash", True)]


def nurse_until_condemned(relay: RelayProcess, pipeline: Pipeline, events: Numbered, *, poison: set[int]) -> int:
    def is_over() -> bool:
        return condemned(pipeline) and not events.missing(without=poison)

    deaths = nurse(relay, is_over, what="the culprit is parked and the rest flows", timeout=180)
    assert 3 <= deaths <= MAX_DEATHS
    print(f"{deaths} deaths")
    return deaths


def expect(pipeline: Pipeline, numbers: range) -> Numbered:
    events = Numbered(pipeline, pipeline.kafka)
    for number in numbers:
        events.put.setdefault(f"k{number % 3}", []).append(number)
    return events


@pytest.mark.parametrize("ordering", ["relaxed", "strict"])
@pytest.mark.parametrize("where", ["publish", "route", "exception"])
@pytest.mark.parametrize("is_one_transaction", [True, False], ids=["one transaction", "many"])
def test_a_record_that_kills_the_process_is_parked_and_the_rest_flows(
    pipeline: Pipeline, make_relay: MakeRelay, where: str, ordering: str, is_one_transaction: bool
) -> None:
    events = expect(pipeline, range(20))
    with pipeline.database.connect(autocommit=not is_one_transaction) as conn:
        for number in range(20):
            payload = json.dumps({"n": number, "pad": POISON if number == 7 else ""})
            conn.execute(
                "INSERT INTO outbox VALUES (gen_random_uuid(), %s, %s, 'T', %s)",
                [pipeline.aggregate_type, f"k{number % 3}", payload],
            )
    relay = start(make_relay, pipeline, where=where, delivery={"ordering": ordering})
    nurse_until_condemned(relay, pipeline, events, poison={7})
    if ordering == "strict":
        events.assert_in_order(without={7})
    assert relay.is_running
    assert relay.stop() == 0


def test_the_relay_is_as_fast_as_ever_after_the_culprit(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    """It goes on carefully for a while, as one defect has many culprits; then nobody touches the run's row any more."""
    events = expect(pipeline, range(6))
    for number in range(6):
        insert(pipeline, number, poison=number == 3)
    relay = start(make_relay, pipeline, where="publish")
    nurse_until_condemned(relay, pipeline, events, poison={3})
    insert_many(pipeline, A_WHILE)
    pipeline.wait_for_records(5 + A_WHILE, timeout=60)
    before = pipeline.database.execute("SELECT xmin::text FROM cdc_relay.runs")
    insert_many(pipeline, 5_000)
    pipeline.wait_for_records(5_005 + A_WHILE, timeout=60)
    after = pipeline.database.execute("SELECT xmin::text FROM cdc_relay.runs")
    assert (before, relay.is_running) == (after, True)


def test_after_repeated_deaths_a_backlog_is_gone_through_by_handfuls(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    """Whoever killed the process: two writes for each record of a window would take minutes."""
    relay = make_relay(pipeline.config()).wait_ready()
    relay.kill()
    insert_many(pipeline, BACKLOG)
    pipeline.database.execute(
        "UPDATE cdc_relay.runs SET deaths = 1, confirmed_lsn = confirmed_flush_lsn FROM pg_replication_slots"
        " WHERE slot_name = slot"
    )
    count_writes_of_runs(pipeline)
    relay.start().wait_for_log('"caution_over"', timeout=120)
    pipeline.wait_for_records(BACKLOG, timeout=120)
    assert BACKLOG / 200 < runs_written(pipeline) < BACKLOG / 10


def count_writes_of_runs(pipeline: Pipeline) -> None:
    """By a trigger: what Postgres' statistics say of a session comes seconds late."""
    pipeline.database.execute("CREATE SEQUENCE writes")
    pipeline.database.execute(
        "CREATE FUNCTION count_write() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER"
        " AS $$ BEGIN PERFORM nextval('public.writes'); RETURN NULL; END $$"
    )
    pipeline.database.execute(
        "CREATE TRIGGER writes AFTER UPDATE ON cdc_relay.runs FOR EACH ROW EXECUTE FUNCTION count_write()"
    )


def runs_written(pipeline: Pipeline) -> int:
    [(count,)] = pipeline.database.execute("SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM writes")
    return int(count)


def is_noted_alone(pipeline: Pipeline) -> bool:
    return pipeline.database.execute("SELECT jsonb_array_length(note::jsonb) = 4 FROM cdc_relay.runs") == [(True,)]


def insert_many(pipeline: Pipeline, count: int) -> None:
    with pipeline.database.connect() as conn:
        insert_events(conn, count, pipeline.aggregate_type)


def test_a_record_that_kills_with_its_report_is_parked(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    """It is on the topic by then, once for every death: that cannot be helped, but it ends."""
    events = expect(pipeline, range(10))
    for number in range(10):
        insert(pipeline, number, poison=number == 4)
    relay = start(make_relay, pipeline, where="report")
    nurse_until_condemned(relay, pipeline, events, poison={4})


def test_two_culprits_are_parked_one_after_the_other(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    events = expect(pipeline, range(10))
    for number in range(10):
        insert(pipeline, number, poison=number in (2, 3))
    relay = start(make_relay, pipeline, where="publish")

    def is_over() -> bool:
        found = [row[:2] for row in pipeline.database.execute(CULPRIT)]
        return found == [("dead", "crash")] * 2 and not events.missing(without={2, 3})

    assert nurse(relay, is_over, what="both are parked and the rest flows", timeout=240) <= 2 * MAX_DEATHS


def test_a_scheduled_record_that_kills_when_it_is_due_is_given_up(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    pipeline.database.execute("ALTER TABLE outbox ADD scheduled_at timestamptz")
    outboxes = [{"table": "public.outbox", "columns": {"scheduled_at": "scheduled_at"}}]
    events = expect(pipeline, range(8))
    for number in range(4):
        insert(pipeline, number, poison=number == 2, due="now() + interval '3 s'")
    for number in range(4, 8):
        insert(pipeline, number)
    relay = start(make_relay, pipeline, where="publish", outboxes=outboxes)

    def is_over() -> bool:
        rows = pipeline.database.execute(f"{CULPRIT} WHERE status <> 'published'")
        return [row[:4] for row in rows] == [("dead", "crash", "crash", True)] and not events.missing(without={2})

    deaths = nurse(relay, is_over, what="the culprit is given up and the rest flows", timeout=180)
    print(f"{deaths} deaths")
    assert 3 <= deaths <= MAX_DEATHS


@pytest.mark.real_kafka
@pytest.mark.parametrize("ordering", ["relaxed", "strict"])
def test_a_retried_record_that_kills_is_given_up(
    make_pipeline: MakePipeline, make_relay: MakeRelay, kafka: KafkaBroker, ordering: str
) -> None:
    """It fails alone, by its size; when an operator has it retried with another payload it kills."""
    pipeline = make_pipeline(topic_config=NARROW)
    events = expect(pipeline, range(9))
    for number in range(9):
        insert(pipeline, number, pad="x" * 25_000 if number in (1, 2) else "")
    relay = start(make_relay, pipeline, where="publish", delivery={"ordering": ordering, "retry": RETRY})
    wait_until(lambda: events.lot().get("retrying", 0) == 2, timeout=60, what="two are parked")
    kafka.configure_topic(pipeline.topic, max_message_bytes="200000")
    events.tell(
        "UPDATE cdc_relay.parked_records SET value = convert_to(%s, 'UTF8'), next_retry_at = now()"
        " WHERE convert_from(value, 'UTF8')::jsonb @> '{\"n\": 1}'",
        json.dumps({"n": 1, "pad": POISON}),
    )

    def is_over() -> bool:
        rows = pipeline.database.execute(f"{CULPRIT} WHERE status <> 'published'")
        return [row[:4] for row in rows] == [("dead", "crash", "crash", True)] and not events.missing(without={1})

    deaths = nurse(relay, is_over, what="the culprit is given up and the rest flows", timeout=180)
    print(f"{deaths} deaths")
    assert 3 <= deaths <= MAX_DEATHS
    if ordering == "strict":
        events.assert_in_order(without={1})


@pytest.mark.real_kafka
def test_kills_during_an_outage_make_nobody_a_culprit(make_pipeline: MakePipeline, mortal_kafka: KafkaBroker) -> None:
    """Those that meet a relay with records out, and those that meet one that waits for the broker."""
    pipeline = make_pipeline(kafka=mortal_kafka)
    relay = pipeline.start_relay()
    for _ in range(5):
        pipeline.insert()
        mortal_kafka.freeze()
        pipeline.insert()
        wait_for_state(relay, "holding")
        relay.kill()
        relay.start()
        wait_for_state(relay, "waiting")
        relay.kill()
        mortal_kafka.thaw()
        relay.start().wait_ready()
    pipeline.wait_for_records(10)
    assert pipeline.database.execute(CULPRIT) == []


@pytest.mark.real_kafka
def test_kills_of_a_cautious_relay_that_waits_for_the_broker_make_nobody_a_culprit(
    make_pipeline: MakePipeline, make_kafka: MakeKafka
) -> None:
    """The same record is out at every death; after three of them it is noted alone, for the moment in which it might
    kill. Kills from outside in that very moment, three times, are not told from the record's own."""
    broker = make_kafka(**{"auto.create.topics.enable": False})
    pipeline = make_pipeline(kafka=broker)
    late = f"{pipeline.topic}-late"
    relay = pipeline.start_relay(sink={"kafka": PATIENT}, delivery={"partial_outage_after": "1h"})
    with pipeline.database.connect() as conn:
        insert_event(conn, f"{pipeline.aggregate_type}-late")
    for _ in range(6):
        wait_until_readiness(relay, lambda said: said.get("open_records") == 1, what="the record is out")
        wait_until(lambda: not is_noted_alone(pipeline), timeout=30, what="it has survived")
        relay.kill()
        relay.start()
    broker.create_topic(late)
    relay.wait_ready()
    pipeline.insert()
    pipeline.wait_for_records(1)
    wait_for_records(broker.bootstrap, late, 1, timeout=60)
    assert relay.stderr.count('"caution"') >= 3, "it was not careful, so nothing was shown"
    assert pipeline.database.execute(CULPRIT) == []


def test_kills_at_random_moments_under_load_make_nobody_a_culprit(
    make_pipeline: MakePipeline, rng: random.Random
) -> None:
    pipeline = make_judged_pipeline(make_pipeline)
    relay = pipeline.start_relay()
    with trial(pipeline, rng) as load:
        load.let_deliver()
        for _ in range(KILL_COUNT):
            load.let_commit(rng.randint(0, 150))
            relay.kill()
            relay.start()
        load.let_deliver()
    load.report().assert_clean()
    assert pipeline.database.execute(CULPRIT) == []
