"""What Prometheus sees, parsed back with its own parser."""

from __future__ import annotations

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from cdc_relay import __version__
from cdc_relay.http.metrics import build_registry
from cdc_relay.model import Failure
from cdc_relay.parking.entry import Status, Survey
from cdc_relay.stats import Closure, State, Stats

FAILURE = Failure("code", "reason", "remedy")


def read_samples(stats: Stats) -> dict[tuple[str, ...], float]:
    """Each sample's value by its name and label values."""
    text = generate_latest(build_registry(stats)).decode()
    families = text_string_to_metric_families(text)
    return {(s.name, *s.labels.values()): s.value for family in families for s in family.samples}


def filled_stats() -> Stats:
    stats = Stats()
    stats.published_count, stats.published_bytes, stats.transaction_count = 10, 2_000, 4
    stats.ignored_count, stats.reconnect_count = 3, 2
    stats.change_count, stats.dropped_count = 8, 12
    stats.open_record_count, stats.open_bytes, stats.slot_lag_bytes = 5, 500, 4_096
    stats.parked_count, stats.republished_count, stats.dead_count = 9, 6, 1
    stats.closed_topics = (Closure("orders", FAILURE, 0.0), Closure("bills", FAILURE, 0.0))
    stats.lot = Survey(counts={Status.RETRYING: 2, Status.BEHIND: 4, Status.DEAD: 1}, oldest_seconds=70.5)
    return stats


def test_every_number_of_stats_is_exposed_under_its_name() -> None:
    samples = read_samples(filled_stats())
    plain = {name: value for (name, *labels), value in samples.items() if not labels}
    assert plain == {
        "outbox_published_total": 10,
        "outbox_published_bytes_total": 2_000,
        "outbox_transactions_total": 4,
        "outbox_ignored_changes_total": 3,
        "outbox_foreign_changes_total": 8,
        "outbox_dropped_total": 12,
        "outbox_reconnects_total": 2,
        "outbox_in_flight_records": 5,
        "outbox_in_flight_bytes": 500,
        "outbox_slot_lag_bytes": 4_096,
        "outbox_parked_total": 9,
        "outbox_republished_total": 6,
        "outbox_dead_total": 1,
        "outbox_closed_topics": 2,
        "outbox_lot_oldest_seconds": 70.5,
        "outbox_backlog_gauge": 5 + 2 + 4,
    }


def test_the_lot_is_shown_by_status_with_its_zeros() -> None:
    samples = read_samples(filled_stats())
    lot = {labels[0]: value for (name, *labels), value in samples.items() if name == "outbox_lot_records"}
    assert lot == {"retrying": 2, "behind": 4, "scheduled": 0, "dead": 1}


def test_the_lot_is_absent_until_known() -> None:
    assert not [key for key in read_samples(Stats()) if key[0] in ("outbox_lot_records", "outbox_backlog_gauge")]


def test_slot_lag_is_absent_until_known() -> None:
    assert ("outbox_slot_lag_bytes",) not in read_samples(Stats())


def test_a_known_lag_of_zero_is_exposed() -> None:
    stats = Stats()
    stats.slot_lag_bytes = 0
    assert read_samples(stats)[("outbox_slot_lag_bytes",)] == 0


def test_exactly_the_current_state_is_one() -> None:
    stats = Stats()
    stats.enter(State.HOLDING)
    states = {labels[0]: value for (name, *labels), value in read_samples(stats).items() if name == "outbox_state"}
    assert states == {state.value: float(state is State.HOLDING) for state in State}


def test_build_info_names_the_version() -> None:
    builds = [key for key in read_samples(Stats()) if key[0] == "outbox_build_info"]
    assert len(builds) == 1
    assert __version__ in builds[0]


def test_two_relays_in_one_process_do_not_share_numbers() -> None:
    busy, idle = filled_stats(), Stats()
    assert read_samples(busy)[("outbox_published_total",)] == 10
    assert read_samples(idle)[("outbox_published_total",)] == 0
