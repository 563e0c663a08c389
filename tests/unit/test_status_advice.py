"""Which of several troubles an operator is told of first, and what to do about it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cdc_relay.admin.status.advice import judge
from cdc_relay.admin.status.lag import find_lag
from cdc_relay.admin.status.report import Backfill, Lag, Report, Run, Trouble
from tests.unit.status_rig import CLOSED, DEAD, DOWN, FREE, RELAY, SILENT, SLOT, WELL, with_relay

LOST = replace(SLOT, active=False, reader=None, wal_status="lost", invalidation_reason="wal_removed", safe_bytes=None)
AWAY = Trouble(
    "postgres", "Postgres is not reachable: Connection refused", "check host, port and network of source.dsn"
)


def test_all_is_well_where_nothing_is_wrong() -> None:
    assert (judge(WELL).level, judge(WELL).text) == ("ok", "all is well")


@pytest.mark.parametrize(
    ("report", "level", "parts"),
    [
        (replace(WELL, postgres=None, slot=None, troubles=(AWAY,)), "act", ("not reachable", "check host")),
        (
            replace(WELL, slot=None, backfill=Backfill("b-1", 7_300.0, 40.0)),
            "act",
            ("backfill b-1 began 2 h ago", "40 s ago", "cdc-relay setup -c relay.yaml --backfill"),
        ),
        (replace(WELL, slot=None), "act", ("does not exist", "cdc-relay setup -c relay.yaml")),
        (replace(WELL, slot=LOST), "act", ("wal_removed", "pg_drop_replication_slot('orders_outbox')", "setup")),
        (replace(WELL, slot=replace(SLOT, is_here=False)), "act", ("database orders", "source.dsn")),
        (DOWN, "act", ("not read by anybody for 3 h", "980 MiB more", "cdc-relay run -c relay.yaml")),
        (replace(DOWN, run=Run(9.0, True, 0), file="my file.yaml"), "act", ("cdc-relay run -c 'my file.yaml'",)),
        (
            replace(WELL, slot=replace(SLOT, safe_bytes=100 << 20)),
            "act",
            ("lost after 100 MiB", "max_slot_wal_keep_size = '2048MB'", "pg_reload_conf"),
        ),
        (replace(WELL, slot=replace(SLOT, wal_status="unreserved", safe_bytes=-5)), "act", ("lost after 0 B more",)),
        (with_relay(live=False, reason="the loop has not turned for 31 s"), "act", ("stuck", "restart process 4242")),
        (with_relay(state="waiting", reason="Kafka does not answer"), "act", ("waits for 3 h: Kafka does not answer",)),
        (with_relay(state="holding", reason="Connection refused"), "act", ("holds for 3 h", "Connection refused")),
        (with_relay(state="released", reason="line closed"), "act", ("released the line", "keeps the rows")),
        (with_relay(state="stopping"), "attention", ("stopping", "cdc-relay run -c relay.yaml")),
        (replace(with_relay(state="standby"), slot=FREE), "attention", ("look again",)),
        (with_relay(closed_topics=(CLOSED,)), "act", ("orders.v1 is closed", "there is no such topic", "create the")),
        (replace(WELL, troubles=(Trouble("parked", "no table", "setup"),)), "act", ("parked could not be read",)),
        (replace(WELL, parked=DEAD), "act", ("1 record is dead", "cdc-relay dlq list -c relay.yaml --status dead")),
        (replace(WELL, run=Run(9.0, False, 2)), "attention", ("died 2 times in a row",)),
        (replace(WELL, relay=None, troubles=(SILENT,)), "attention", ("the slot is read, but no answer", "start it")),
        (replace(WELL, lag=Lag(9_000_000, 180.0, at_most=False)), "attention", ("3 min behind", "812 records/s")),
    ],
)
def test_each_trouble_is_named_with_the_first_thing_to_do(report: Report, level: str, parts: tuple[str, ...]) -> None:
    verdict = judge(report)
    assert verdict.level == level
    for part in parts:
        assert part in verdict.text


def test_a_standby_beside_a_reader_is_well() -> None:
    assert judge(with_relay(state="standby", role="standby", reason="slot is in use")).level == "ok"


def test_a_relay_without_http_that_reads_is_well() -> None:
    off = Trouble("relay", "http.listen is off", "set it")
    assert judge(replace(WELL, relay=None, url=None, troubles=(off,))).level == "ok"


def test_a_run_that_died_is_said_and_an_orderly_end_is_not() -> None:
    assert "the last one died" in judge(DOWN).text
    assert "died" not in judge(replace(DOWN, run=Run(9.0, True, 0))).text


def test_what_loses_rows_comes_before_what_only_waits() -> None:
    both = replace(with_relay(state="waiting", reason="slot is lost", closed_topics=(CLOSED,)), slot=LOST, parked=DEAD)
    assert "slot orders_outbox is lost" in judge(both).text
    assert "waits" in judge(replace(both, slot=SLOT)).text


def test_a_text_of_the_relay_cannot_move_the_cursor() -> None:
    assert "\x1b" not in judge(with_relay(state="waiting", reason="\x1b[2Jboo")).text


@pytest.mark.parametrize(
    ("changes", "lag"),
    [
        ({}, Lag(1200, 0.1, at_most=False)),
        ({"lag_seconds": None}, Lag(1200, 3.0, at_most=True)),
    ],
)
def test_the_reader_knows_the_lag_best_and_the_guard_only_a_bound(changes: dict[str, object], lag: Lag) -> None:
    assert find_lag(SLOT, replace(RELAY, **changes), WELL.guard) == lag  # type: ignore[arg-type]  # as in the rig


def test_without_relay_and_guard_seconds_are_unknown_unless_there_is_no_lag() -> None:
    assert find_lag(SLOT, None, None) == Lag(1200, None, at_most=False)
    assert find_lag(replace(SLOT, lag_bytes=0), None, WELL.guard) == Lag(0, 0.0, at_most=False)
    assert find_lag(None, None, WELL.guard) == Lag(None, None, at_most=False)
