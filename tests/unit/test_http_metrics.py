"""What Prometheus sees, parsed back with its own parser."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from cdc_relay import __version__
from cdc_relay.counters import BOUNDS_US, Stage
from cdc_relay.http.meters import METERS, Kind
from cdc_relay.http.metrics import StatsCollector, build_registry
from cdc_relay.http.readings import Moment
from cdc_relay.model import Failure
from cdc_relay.parking.entry import Reason, Status, Survey
from cdc_relay.stats import Bounds, Closure, Room, State, Stats

FAILURE = Failure("code", "reason", "remedy")
MOMENT = Moment(now=1_000.0, wall=1_800_000_000.0)
SERIES = ("public.outbox", "orders")
KAFKA = '{"msg_cnt": 1, "msg_size": 2, "brokers": {"b": {"nodeid": 1, "nodename": "kafka:9092", "rtt": {"cnt": 1}}}}'


def read_text(stats: Stats) -> str:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(StatsCollector(stats, clock=lambda: MOMENT))
    return generate_latest(registry).decode()


def read_samples(stats: Stats) -> dict[tuple[str, ...], float]:
    """Each sample's value by its name and its own label values; that every one has the service is checked here."""
    samples = {}
    for family in text_string_to_metric_families(read_text(stats)):
        for sample in family.samples:
            labels = dict(sample.labels)
            assert labels.pop("service") == stats.service, sample
            samples[sample.name, *labels.values()] = sample.value
    return samples


def filled_stats() -> Stats:
    stats = Stats(slot="orders_outbox", service="orders", bounds=Bounds(100, 1_000, 50, 5_000))
    stats.published_bytes, stats.transaction_count = 2_000, 4
    stats.ignored_count, stats.reconnect_count = 3, 2
    stats.change_count, stats.dropped_count = 8, 12
    stats.open_record_count, stats.open_bytes = 5, 500
    stats.last_settled_at, stats.last_turn_at = 990.0, 999.5
    stats.see_slot(4_096, (300, 1_000))
    stats.lag_us = 2_500_000
    stats.enter(State.STREAMING)
    stats.republished_count = 6
    stats.closed_topics = (Closure("orders", FAILURE, 980.0), Closure("bills", FAILURE, 900.0))
    counts = {Status.RETRYING: 2, Status.BEHIND: 4, Status.DEAD: 1}
    stats.lot = Survey(counts=counts, oldest_seconds=70.5, live_bytes=640)
    stats.upkeep.certificates = {"sink.kafka ssl.ca.location": 1_900_000_000.0}
    stats.sink_statistics = KAFKA
    stats.upkeep.removed, stats.upkeep.made, stats.upkeep.ran_at = (
        {"public.outbox": 70},
        {"public.outbox": 3},
        5.0,
    )
    stats.upkeep.tried_at = 5.0
    fill_counters(stats)
    return stats


def fill_counters(stats: Stats) -> None:
    counter = stats.counters.of(*SERIES)
    counter.published, counter.refused, counter.retried, counter.failed = 10, 3, 2, 1
    stats.counters.parked[Reason.FAILURE] += 3
    stats.counters.latency_of("public.outbox").add([1_000_000, 1_000_000], 1_004_000)
    stats.counters.stages[Stage.DECODE].add(0.5)


def test_every_number_of_stats_is_exposed_under_its_name() -> None:
    plain = {key[0]: value for key, value in read_samples(filled_stats()).items() if len(key) == 1}
    assert plain == {
        "outbox_published_bytes_total": 2_000,
        "outbox_transactions_total": 4,
        "outbox_ignored_changes_total": 3,
        "outbox_foreign_changes_total": 8,
        "outbox_dropped_total": 12,
        "outbox_reconnects_total": 2,
        "outbox_in_flight_records": 5,
        "outbox_in_flight_bytes": 500,
        "outbox_window_fill_ratio": 0.5,
        "outbox_stalled_seconds": 10.0,
        "outbox_loop_silent_seconds": 0.5,
        "outbox_slot_active": 1,
        "outbox_slot_lag_bytes": 4_096,
        "outbox_slot_lag_seconds": 2.5,
        "outbox_slot_wal_headroom_bytes": 300,
        "outbox_slot_wal_limit_bytes": 1_000,
        "outbox_republished_total": 6,
        "outbox_closed_topics": 2,
        "outbox_lot_bytes": 640,
        "outbox_lot_limit_records": 50,
        "outbox_lot_limit_bytes": 5_000,
        "outbox_lot_oldest_seconds": 70.5,
        "outbox_backlog_gauge": 5 + 2 + 4,
        "outbox_kafka_queue_records": 1,
        "outbox_kafka_queue_bytes": 2,
        "outbox_retention_failing": 0,
        "outbox_retention_last_run_timestamp_seconds": 5,
    }


def test_records_are_counted_by_outbox_and_topic() -> None:
    samples = read_samples(filled_stats())
    assert samples["outbox_publish_attempts_total", *SERIES] == 13
    assert samples["outbox_published_total", *SERIES] == 10
    assert samples["outbox_retry_total", *SERIES] == 2
    assert samples["outbox_failed_permanent_total", *SERIES] == 1
    assert samples["outbox_parked_total", "failure"] == 3
    assert samples["outbox_parked_total", "schedule"] == 0
    assert samples["outbox_topic_closed_seconds", "bills"] == 100.0


def test_what_retention_did_is_counted_by_table() -> None:
    samples = read_samples(filled_stats())
    assert samples["outbox_retention_removed_rows_total", "public.outbox"] == 70
    assert samples["outbox_retention_partitions_total", "made", "public.outbox"] == 3


def test_retention_fails_while_its_last_pass_left_something_undone() -> None:
    stats = Stats()
    assert ("outbox_retention_failing",) not in read_samples(stats)
    stats.upkeep.tried_at, stats.upkeep.error = 5.0, "public.outbox: no right"
    assert read_samples(stats)[("outbox_retention_failing",)] == 1


def test_latency_is_a_histogram() -> None:
    samples = read_samples(filled_stats())
    name = "outbox_publish_latency_seconds"
    assert samples[f"{name}_bucket", "0.0025", "public.outbox"] == 0
    assert samples[f"{name}_bucket", "0.005", "public.outbox"] == 2
    assert samples[f"{name}_bucket", "+Inf", "public.outbox"] == samples[f"{name}_count", "public.outbox"] == 2
    assert samples[f"{name}_sum", "public.outbox"] == 0.008
    assert len([key for key in samples if key[0] == f"{name}_bucket"]) == len(BOUNDS_US) + 1


def test_a_stage_has_its_time_and_its_count() -> None:
    samples = read_samples(filled_stats())
    assert samples["outbox_stage_seconds_sum", "decode"] == 0.5
    assert samples["outbox_stage_seconds_count", "decode"] == 1
    assert {key[1] for key in samples if key[0] == "outbox_stage_seconds_sum"} == {stage.value for stage in Stage}


def test_what_is_served_is_what_the_table_of_meters_has() -> None:
    text = read_text(filled_stats())
    served = {(family.name, family.type) for family in text_string_to_metric_families(text)}
    assert served == {(_family_name(name), _type(meter.kind)) for name, meter in METERS.items()}


def _family_name(name: str) -> str:
    return name.removesuffix("_total")


def _type(kind: Kind) -> str:
    return "gauge" if kind is Kind.INFO else kind.value  # the text format knows no info


def test_a_full_window_is_measured_by_what_fills_it_first() -> None:
    stats = filled_stats()
    stats.open_record_count, stats.open_bytes = 90, 20
    assert read_samples(stats)[("outbox_window_fill_ratio",)] == 0.9


def test_nothing_stalls_where_nothing_is_open() -> None:
    stats = filled_stats()
    stats.open_record_count = 0
    assert read_samples(stats)[("outbox_stalled_seconds",)] == 0


def test_the_lot_is_shown_by_status_with_its_zeros() -> None:
    samples = read_samples(filled_stats())
    lot = {labels[0]: value for (name, *labels), value in samples.items() if name == "outbox_lot_records"}
    assert lot == {"retrying": 2, "behind": 4, "scheduled": 0, "dead": 1}


def test_the_lot_is_absent_until_known() -> None:
    absent = ("outbox_lot_records", "outbox_lot_bytes", "outbox_lot_oldest_seconds", "outbox_backlog_gauge")
    assert not [key for key in read_samples(Stats()) if key[0] in absent]


def test_the_slot_is_absent_until_known() -> None:
    assert [key[0] for key in read_samples(Stats()) if key[0].startswith("outbox_slot")] == ["outbox_slot_active"]


def test_a_known_lag_of_zero_is_exposed() -> None:
    stats = Stats()
    stats.see_slot(0, None)
    assert read_samples(stats)[("outbox_slot_lag_bytes",)] == 0
    assert stats.room is None


def test_a_standby_shows_neither_lag_nor_lot_nor_topics() -> None:
    stats = filled_stats()
    stats.enter(State.STANDBY)
    samples = read_samples(stats)
    assert samples[("outbox_slot_active",)] == 1
    of_slot = ("outbox_slot_lag", "outbox_slot_wal", "outbox_lot_records", "outbox_lot_oldest", "outbox_backlog")
    of_kafka = ("outbox_closed_topics", "outbox_topic_closed", "outbox_kafka")
    assert not [key for key in samples if key[0].startswith((*of_slot, *of_kafka))]


def test_a_slot_that_nobody_reads_is_inactive() -> None:
    stats = filled_stats()
    for state in (State.WAITING, State.RELEASED, State.STARTING):
        stats.enter(state)
        assert read_samples(stats)[("outbox_slot_active",)] == 0


def test_exactly_the_current_state_is_one() -> None:
    stats = Stats()
    stats.enter(State.HOLDING)
    states = {labels[0]: value for (name, *labels), value in read_samples(stats).items() if name == "outbox_state"}
    assert states == {state.value: float(state is State.HOLDING) for state in State}


def test_build_info_names_the_version() -> None:
    builds = [key for key in read_samples(Stats()) if key[0] == "outbox_build_info"]
    assert len(builds) == 1
    assert __version__ in builds[0]


def test_without_a_name_the_service_is_the_slot() -> None:
    assert Stats(slot="orders_outbox").service == "orders_outbox"


def test_the_process_is_measured_too() -> None:
    text = generate_latest(build_registry(Stats())).decode()
    assert "process_resident_memory_bytes" in text


def test_room_is_shown_as_postgres_says_it() -> None:
    stats = Stats()
    stats.see_slot(7, (5, 10))
    assert stats.room == Room(5, 10)
