"""A transaction of very many rows, and a row that is very large: memory stays bounded, and the line is kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import psutil  # type: ignore[import-untyped]  # carries no types
import pytest
from confluent_kafka import Consumer, TopicPartition

from cdc_relay.config.delivery import WindowConfig
from tests.chaos.observed import Walsender, find_walsender, wait_for_another_walsender
from tests.fixtures.consume import consumer, end_offsets, good_messages
from tests.fixtures.fix_kafka import KafkaBroker
from tests.fixtures.fix_relay import MakePipeline, Pipeline, RelayProcess
from tests.fixtures.outbox import insert_events
from tests.fixtures.process import wait_until

pytestmark = pytest.mark.real_kafka

MIB = 1 << 20


# --- a million rows

ROW_COUNT = 1_000_000
DEADLINE_SECONDS = 240.0
RSS_LIMIT_BYTES = 150_000_000
WAL_SENDER_TIMEOUT_SECONDS = 10.0


@pytest.mark.timeout(2 * DEADLINE_SECONDS)
def test_a_million_rows_in_one_transaction_pass_in_bounded_memory_over_one_line(
    make_pipeline: MakePipeline, mortal_kafka: KafkaBroker
) -> None:
    """The broker freezes in the middle, so that only the window keeps the relay from reading on."""
    pipeline = make_pipeline(kafka=mortal_kafka, partitions=3)
    relay = pipeline.start_relay(source={"wal_sender_timeout": f"{WAL_SENDER_TIMEOUT_SECONDS:g}s"})
    watch = LineWatch(pipeline)
    with ThreadPoolExecutor(1) as helper:
        insertion = helper.submit(insert_rows, pipeline)
        watch.until_delivered(1, insertion)
        mortal_kafka.freeze()
        watch.until_heard(5)
        mortal_kafka.thaw()
        watch.until_delivered(ROW_COUNT, insertion)
    peak = relay.rss_peak()
    print(f"peak RSS {peak / MIB:.0f} MiB; {watch}")
    assert peak < RSS_LIMIT_BYTES
    assert watch.pids == {watch.seen[0].pid}
    assert watch.oldest_reply_seconds < WAL_SENDER_TIMEOUT_SECONDS
    assert delivery_counts(pipeline) == bytearray([0] + [1] * ROW_COUNT)


def insert_rows(pipeline: Pipeline) -> None:
    with pipeline.database.connect() as conn:
        insert_events(conn, ROW_COUNT, pipeline.aggregate_type, key_count=1000, payload_bytes=20)


class LineWatch:
    """What Postgres says of our replication line, several times a second."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.seen: list[Walsender] = []
        self._pipeline = pipeline

    def __str__(self) -> str:
        return f"the oldest status update was {self.oldest_reply_seconds:.1f} s old in {len(self.seen)} looks"

    @property
    def pids(self) -> set[int]:
        return {each.pid for each in self.seen}

    @property
    def oldest_reply_seconds(self) -> float:
        return max(each.reply_age_seconds or 0 for each in self.seen)

    def until_heard(self, count: int) -> None:
        """So many status updates more."""
        start = len(self.seen)
        self._until(
            lambda: len({each.reply_time for each in self.seen[start:]}) > count, f"{count} status updates are heard"
        )

    def until_delivered(self, count: int, insertion: Future[None]) -> None:
        """So many rows are on the topic."""
        reader = consumer(self._pipeline.kafka.bootstrap)

        def are_there() -> bool:
            if insertion.done():
                insertion.result()
            return sum(end_offsets(reader, [self._pipeline.topic]).values()) >= count

        try:
            self._until(are_there, f"{count} rows are on the topic")
        finally:
            reader.close()

    def _until(self, condition: Callable[[], bool], what: str) -> None:
        def look() -> bool:
            walsender = find_walsender(self._pipeline)
            assert walsender is not None, "the replication line was lost"
            self.seen.append(walsender)
            return condition()

        wait_until(look, timeout=DEADLINE_SECONDS, every=0.2, what=what)


def delivery_counts(pipeline: Pipeline) -> bytearray:
    """How often each row is on the topic, by its number from 1 on."""
    counts = bytearray(ROW_COUNT + 1)
    reader = consumer(pipeline.kafka.bootstrap)
    try:
        ends = end_offsets(reader, [pipeline.topic])
        reader.assign([TopicPartition(topic, partition, 0) for topic, partition in ends])
        for value in read_values(reader, sum(ends.values())):
            counts[int(value[6 : value.index(b",")])] += 1  # {"n": 17, "pad": "…"}
    finally:
        reader.close()
    return counts


def read_values(reader: Consumer, count: int) -> Iterator[bytes]:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while count > 0 and time.monotonic() < deadline:
        messages = good_messages(reader.consume(min(10_000, count), timeout=0.5))
        count -= len(messages)
        yield from (message.value() or b"" for message in messages)


# --- a row of 100 MB

LARGE_BYTES = 100 * MIB
ALLOWED_BYTES = str(110 * MIB)
WINDOW = WindowConfig()  # by default
RECORD_BYTES = 1_000  # what each open one takes beside what is in it


@pytest.fixture
def roomy_pipeline(make_pipeline: MakePipeline) -> Pipeline:
    """Its topic takes a record of that size."""
    return make_pipeline(payload_type="text", topic_config={"max.message.bytes": ALLOWED_BYTES})


@pytest.fixture
def roomy_relay(roomy_pipeline: Pipeline) -> RelayProcess:
    return roomy_pipeline.start_relay(sink={"kafka": {"message.max.bytes": ALLOWED_BYTES}})


@pytest.mark.usefixtures("roomy_relay")
def test_a_row_of_100_mb_passes_where_the_broker_takes_it_and_so_does_what_follows(roomy_pipeline: Pipeline) -> None:
    insert_large_row(roomy_pipeline)
    roomy_pipeline.insert(payload="what follows")
    large, next_one = roomy_pipeline.wait_for_records(2, timeout=120)
    assert (len(large.value() or b""), next_one.value()) == (LARGE_BYTES, b"what follows")


def test_the_memory_that_a_row_of_100_mb_took_is_given_back(
    roomy_pipeline: Pipeline, roomy_relay: RelayProcess
) -> None:
    """libpq's buffer stays grown until the line is closed, so the relay connects again."""
    before = wait_for_another_walsender(roomy_pipeline, None)
    insert_large_row(roomy_pipeline)
    wait_for_another_walsender(roomy_pipeline, before, timeout=120)
    wait_until(lambda: rss(roomy_relay) < roomy_relay.rss_peak() / 2, timeout=30, what="its memory is given back")
    print(f"RSS {rss(roomy_relay) / MIB:.0f} MiB, peak {roomy_relay.rss_peak() / MIB:.0f} MiB")
    assert roomy_relay.rss_peak() > LARGE_BYTES


def test_a_row_of_100_mb_takes_no_more_memory_than_the_documented_bound(
    roomy_pipeline: Pipeline, roomy_relay: RelayProcess
) -> None:
    base = rss(roomy_relay)
    insert_large_row(roomy_pipeline)
    roomy_pipeline.wait_for_records(1, timeout=120)
    print(f"base {base / MIB:.0f} MiB, peak {roomy_relay.rss_peak() / MIB:.0f} MiB")
    assert roomy_relay.rss_peak() <= base + RECORD_BYTES * WINDOW.records + 1.25 * WINDOW.bytes + 3 * LARGE_BYTES


def test_a_row_of_100_mb_is_parked_whole_where_the_limits_do_not_allow_it(make_pipeline: MakePipeline) -> None:
    pipeline = make_pipeline(payload_type="text")
    pipeline.start_relay()
    event_id = insert_large_row(pipeline)
    lot = "SELECT event_id, length(value) FROM cdc_relay.parked_records"
    wait_until(
        lambda: pipeline.database.execute(lot) == [(event_id, LARGE_BYTES)], timeout=120, what="it is in the lot, whole"
    )


def insert_large_row(pipeline: Pipeline) -> str:
    """Made by the server; its id."""
    [(event_id,)] = pipeline.database.execute(
        f"INSERT INTO {pipeline.table} (id, aggregatetype, aggregateid, type, payload)"
        " VALUES (gen_random_uuid(), %s, 'k1', 'OrderCreated', repeat('x', %s)) RETURNING id::text",
        [pipeline.aggregate_type, LARGE_BYTES],
    )
    return str(event_id)


def rss(relay: RelayProcess) -> int:
    return int(psutil.Process(relay.pid).memory_info().rss)
