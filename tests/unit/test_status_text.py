"""A report as people see it: text, a log line, the live view."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from cdc_relay.admin.status.report import Lag, Report, Trouble
from cdc_relay.admin.status.sparkline import sparkline
from cdc_relay.admin.status.text import lag_text, log_line, report_text
from cdc_relay.admin.status.view import History, screen
from tests.unit.status_rig import DEAD, DOWN, ERROR, FULL, RELAY, SLOT, WELL


def test_the_text_of_a_well_relay_has_every_figure_and_ends_with_the_verdict() -> None:
    text = report_text(WELL)
    for part in (
        "read by pid 4711 (cdc-relay:orders_outbox, role relay, from 10.0.0.5, for 3 h)",
        "confirmed 16/B374D848, restart 16/B3740000, WAL status reserved",
        "lag 1,200 B, 0.1 s",
        "WAL kept 54 KiB, headroom 980 MiB until it may be lost (max_slot_wal_keep_size = 1,024 MiB)",
        "streaming for 3 h",
        "rate 812.4/s, in flight 96 records, 41 KiB, last delivery 0 s ago",
        "role reader, up 3 h, reconnects 0, version 0.1.0, process 4242 at http://127.0.0.1:9464",
        "parked    none",
        "topics    none closed",
        "errors    none since it started",
    ):
        assert part in text
    assert text.splitlines()[-1] == "verdict   all is well"
    assert "gaps" not in text


def test_the_text_has_all_that_went_wrong_with_the_commands() -> None:
    text = report_text(FULL)
    for part in (
        "retrying 2 (812 B, oldest 40 s), dead 1 (310 B, oldest 2 h)",
        "see the dead: cdc-relay dlq list -c relay.yaml --status dead",
        "orders.v1 closed for 5 min: UNKNOWN_TOPIC_OR_PART: there is no such topic; what to do: create the topic",
        "orders.v1: 7 parked records wait for it to open",
        "2026-01-31T02:00:00Z (2 h ago) waiting: Postgres is not reachable (3 times since 2026-01-31T01:00:00)",
        "accepted 2026-01-30 12:00:00 by admin: 16/A0 to 16/B0",
        "unread    guard: permission denied for table guard; what to do: GRANT SELECT",
        "about 12 rows; closed by: cdc-relay replay -c relay.yaml --since 2026-01-30T11:00:00Z",
    ):
        assert part in text


def test_a_relay_that_is_down_is_said_with_what_postgres_knows() -> None:
    text = report_text(replace(DOWN, dead_errors=FULL.dead_errors))
    for part in (
        "read by nobody for 3 h",
        "lag 1,200 B, at most 5 min",
        "relay     no answer at http://127.0.0.1:9464: [Errno 111] Connection refused",
        "last guard write 0 s ago, ceiling 16/B374D848",
        "last run began 3 h ago, and has not ended in an orderly way: it runs, or died",
        "2026-01-31 02:00:00Z a record for topic orders.v1 is dead: MSG_SIZE_TOO_LARGE: too large",
    ):
        assert part in text


def test_an_unlimited_slot_says_what_that_means() -> None:
    assert WELL.postgres is not None
    unlimited = replace(WELL, postgres=replace(WELL.postgres, keep_limit_bytes=None))
    assert "headroom unlimited: WAL is kept until the disk is full" in report_text(unlimited)


def test_a_lost_slot_has_no_headroom_and_says_why() -> None:
    lost = replace(SLOT, wal_status="lost", invalidation_reason="wal_removed", restart_lsn=None, kept_bytes=None)
    text = report_text(replace(WELL, slot=lost))
    assert "WAL status lost (wal_removed)" in text
    assert "WAL kept -, headroom none: the slot is lost" in text


def test_a_reader_that_is_hidden_is_said_to_be_so() -> None:
    assert SLOT.reader is not None
    hidden = replace(SLOT.reader, role=None, application_name=None, address=None, since_seconds=None)
    assert "hidden from this role" in report_text(replace(WELL, slot=replace(SLOT, reader=hidden)))


def test_a_postgres_that_is_away_leaves_what_the_relay_says() -> None:
    trouble = Trouble("postgres", "Postgres is not reachable", "check the network")
    away = replace(WELL, postgres=None, slot=None, parked=None, waiting_topics=None, troubles=(trouble,))
    text = report_text(replace(away, lag=Lag(None, 0.1, at_most=False)))
    assert "orders_outbox: unknown" in text
    assert "Postgres is not reachable; what to do: check the network" in text
    assert "streaming for 3 h" in text
    assert "parked    unknown" in text


def test_a_remedy_is_never_cut_short() -> None:
    grant = "GRANT SELECT ON ALL TABLES IN SCHEMA cdc_relay TO " + "r" * 300
    assert report_text(replace(WELL, troubles=(Trouble("parked", "no", grant),))).count(grant) == 2


def test_sections_that_lack_the_same_right_share_a_line() -> None:
    both = tuple(Trouble(section, f"permission denied for {section}", "GRANT") for section in ("guard", "gaps"))
    assert "unread    guard, gaps: permission denied for guard; what to do: GRANT\n" in report_text(
        replace(WELL, troubles=both)
    )


def test_verdict_and_sparklines_are_on_top_where_a_low_terminal_does_not_cut_them_off() -> None:
    shown = printed(replace(FULL, backfill=None), History()).splitlines()[:10]
    assert any("is closed" in line for line in shown)
    assert any("parked" in line for line in shown)


def test_nothing_that_was_said_can_move_the_cursor() -> None:
    hostile = "\x1b[31mred\r\n"
    relay = replace(RELAY, version=hostile, role=hostile, reason=hostile, errors=(replace(ERROR, what=hostile),))
    assert "\x1b" not in report_text(replace(WELL, relay=relay))


@pytest.mark.parametrize(
    ("lag", "text"),
    [
        (Lag(0, 0.0, at_most=False), "0 B, 0.0 s"),
        (Lag(12 << 20, 90.0, at_most=False), "12 MiB, 1 min"),
        (Lag(5, 30.0, at_most=True), "5 B, at most 30.0 s"),
        (Lag(5, None, at_most=False), "5 B, seconds unknown"),
        (Lag(None, None, at_most=False), "unknown, seconds unknown"),
    ],
)
def test_the_lag_says_whether_its_seconds_are_known(lag: Lag, text: str) -> None:
    assert lag_text(lag) == text


def test_a_log_line_has_the_figures_and_the_verdict() -> None:
    assert log_line(replace(WELL, parked=DEAD)) == (
        "2026-01-31T04:00:00+00:00  streaming  rate 812.4/s  in flight 96  lag 1,200 B, 0.1 s  parked 3"
        "  1 record is dead: decide what becomes of it: cdc-relay dlq list -c relay.yaml --status dead"
    )
    assert "  relay silent  lag 1,200 B, at most 5 min  parked 0  the slot is not read" in log_line(DOWN)


def printed(report: Report, history: History) -> str:
    output = io.StringIO()
    console = Console(file=output, width=100, force_terminal=True, color_system=None)
    console.print(screen(report, history, interval_seconds=2))
    return re.sub(r"\x1b\[[0-9;]*m", "", output.getvalue())


def test_the_screen_has_verdict_sparklines_and_details() -> None:
    history = History()
    for rate in (0.0, 400.0, 800.0):
        history.add(replace(WELL, relay=replace(RELAY, rate_per_second=rate)))
    shown = printed(WELL, history)
    for part in ("is anything wrong?", "all is well", "▁▅█", "streaming for 3 h", "every 2 s (Ctrl-C: end)"):
        assert part in shown


def test_the_screen_of_a_relay_that_is_down_has_gaps_in_its_sparkline() -> None:
    history = History()
    for report in (WELL, DOWN, WELL):
        history.add(report)
    assert "█ █" in printed(DOWN, history)
    assert "not read by anybody" in printed(DOWN, history)


def test_markup_in_what_was_said_is_text() -> None:
    odd = replace(WELL, relay=replace(RELAY, reason="[red]x[/]"))
    assert "[red]x[/]" in printed(odd, History())


def test_the_sparkline_grows_from_zero_to_the_highest() -> None:
    assert sparkline([0, 50, 100], length=50) == "▁▅█"
    assert sparkline([0, 0], length=50) == "▁▁"
    assert sparkline([], length=50) == ""


def test_the_sparkline_shows_the_latest_and_blanks_for_what_nobody_knew() -> None:
    assert sparkline([100, 0, 100], length=2) == "▁█"
    assert sparkline([None, 4, None, 2], length=4) == " █ ▅"
    assert sparkline([None, None], length=4) == "  "
