"""The test ground's witnesses: a relay that loses or repeats is found out, and one that does not is believed."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from tests.fixtures.fix_postgres import Database
from tests.fixtures.fix_proxy import MakeProxy
from tests.fixtures.fix_relay import MakePipeline, Pipeline
from tests.fixtures.history import APPEND_TIME, Collector, History, SlotSampler, Writer, writers
from tests.fixtures.outbox import create_outbox
from tests.fixtures.process import wait_until


class TestWitnesses:
    """Writer, Collector and SlotSampler against real servers, with a relay played by the test."""

    @pytest.fixture
    def pipeline(self, make_pipeline: MakePipeline) -> Pipeline:
        pipeline = make_pipeline(topic_config=APPEND_TIME, partitions=3)
        pipeline.database.execute(f"ALTER TABLE {pipeline.table} ADD place bigserial")
        return pipeline

    @staticmethod
    def write(pipeline: Pipeline, history: History) -> None:
        dsn = pipeline.database.dsn()
        with writers(dsn, history, aggregate_type=pipeline.aggregate_type, transaction_count=20) as crew:
            for writer in crew:
                writer.join()

    @staticmethod
    def relay(pipeline: Pipeline) -> None:
        """Per writer in the order of its commits; their keys are disjoint."""
        producer = Producer({"bootstrap.servers": pipeline.kafka.bootstrap, "enable.idempotence": True})
        rows = pipeline.database.execute(
            f"SELECT id::text, aggregateid, payload::text FROM {pipeline.table} ORDER BY place"
        )
        for id_, key, payload in rows:
            producer.produce(pipeline.topic, payload, key, headers={"id": id_})
        assert producer.flush(60) == 0

    @staticmethod
    def confirm(pipeline: Pipeline) -> None:
        pipeline.database.execute(
            "SELECT pg_replication_slot_advance(%s, pg_current_wal_insert_lsn())", [pipeline.slot]
        )

    @pytest.mark.kafka
    def test_a_faithful_relay_is_found_clean(self, pipeline: Pipeline) -> None:
        history = History()
        with (
            Collector(pipeline.kafka.bootstrap, history, [f"^{pipeline.topic}"]),
            SlotSampler(pipeline.database.dsn(), history, pipeline.slot),
        ):
            self.write(pipeline, history)
            self.relay(pipeline)
            history.wait_until_delivered()
        history.report().assert_clean(allow_duplicates=False)
        assert history.report().committed_count >= 60

    @pytest.mark.real_kafka
    def test_a_relay_that_confirms_too_early_is_found_out(self, pipeline: Pipeline) -> None:
        history = History()
        with (
            Collector(pipeline.kafka.bootstrap, history, [pipeline.topic]),
            SlotSampler(pipeline.database.dsn(), history, pipeline.slot) as sampler,
        ):
            self.write(pipeline, history)
            self.confirm(pipeline)
            seen = sampler.sample_count
            wait_until(lambda: sampler.sample_count > seen + 1, timeout=10, what="the sampler looks again")
            self.relay(pipeline)
            history.wait_until_delivered()
        report = history.report()
        assert set(report.faults) == {"passed by the slot"}
        assert len(report.slot_violations) == report.committed_count == report.slot_check_count

    @pytest.mark.real_kafka
    def test_a_relay_that_confirms_after_the_ack_is_found_clean(self, pipeline: Pipeline) -> None:
        history = History()
        with (
            Collector(pipeline.kafka.bootstrap, history, [pipeline.topic]),
            SlotSampler(pipeline.database.dsn(), history, pipeline.slot) as sampler,
        ):
            self.write(pipeline, history)
            self.relay(pipeline)
            self.confirm(pipeline)
            seen = sampler.sample_count
            wait_until(lambda: sampler.sample_count > seen + 1, timeout=10, what="the sampler looks again")
            history.wait_until_delivered()
        report = history.report()
        report.assert_clean(allow_duplicates=False)
        assert report.slot_check_count == report.committed_count

    @pytest.mark.core
    def test_lost_answers_to_commits_are_resolved_from_the_table(
        self, database: Database, make_proxy: MakeProxy
    ) -> None:
        with database.connect() as conn:
            create_outbox(conn)
            conn.execute(SLOW_COMMIT)
        proxy = make_proxy("127.0.0.1", database.server.port)
        history = History()
        with Writer(database.dsn(port=proxy.port), history, aggregate_type="order", keys=["k"], max_rows=1):
            wait_until(lambda: bool(committing_pids(database)), timeout=30, what="a COMMIT is under way")
            [outlived] = history.unresolved
            proxy.cut()
            wait_until(lambda: len(history.unresolved) == 2, timeout=30, what="the writer goes on")
            wait_until(lambda: bool(committing_pids(database)), timeout=30, what="a COMMIT is under way")
            [ended] = [event for event in history.unresolved if event != outlived]
            database.server.execute("SELECT pg_terminate_backend(%s)", committing_pids(database))

        with database.connect() as conn:
            history.resolve(conn)

        assert outlived.id in history.committed_ids
        assert ended.id not in history.committed_ids
        assert history.committed_ids == {id_ for (id_,) in database.execute("SELECT id::text FROM outbox")}


SLOW_COMMIT = """
    CREATE FUNCTION nap() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.5); RETURN NULL; END';
    CREATE CONSTRAINT TRIGGER slow_commit AFTER INSERT ON public.outbox
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION nap()
"""


def committing_pids(database: Database) -> list[int]:
    rows = database.execute(
        "SELECT pid FROM pg_stat_activity WHERE datname = %s AND wait_event = 'PgSleep'", [database.name]
    )
    return [pid for (pid,) in rows]
