"""What the demo shows fits the smallest usual terminal and says what happened."""

from __future__ import annotations

import io
from dataclasses import replace
from uuid import UUID

import pytest
from rich.console import Console

from cdc_relay.demo.display import LiveDisplay, PlainDisplay, QuietDisplay, choose_display
from cdc_relay.demo.tally import Count, Delivery, Summary
from cdc_relay.demo.view import Snapshot, plain_line, screen, summary_text

EVENT = Delivery("outbox.event.payment", "payment-1042", "PaymentReceived", UUID(int=0xABCDEF12 << 96))
COUNT = Count(
    committed=1_234_567,
    rolled_back=123_456,
    delivered=1_234_560,
    duplicates=3,
    awaiting=7,
    latency_p50_ms=2.46,
    latency_p99_ms=1_234.5,
    recent=(EVENT,) * 8,
)
SNAPSHOT = Snapshot(
    phase="taking orders",
    uptime_seconds=75.2,
    count=COUNT,
    rates=tuple(float(rate) for rate in range(60)),
    slot_lag_bytes=123_456_789,
    relay_state="ready",
    event_target=None,
)
SUMMARY = Summary(
    committed=50_000,
    delivered=50_000,
    rolled_back=5_000,
    duplicates=0,
    missing=0,
    unexpected=0,
    per_second=4_321.0,
    latency_p50_ms=2.5,
    latency_p99_ms=9.0,
)


def printed(snapshot: Snapshot, *, width: int, height: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, height=height, force_terminal=False)
    console.print(screen(snapshot))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40)])
def test_the_screen_fits_the_terminal(width: int, height: int) -> None:
    lines = printed(SNAPSHOT, width=width, height=height)
    assert len(lines) < height
    assert max(len(line) for line in lines) <= width


def test_the_screen_has_every_figure_uncut() -> None:
    text = "\n".join(printed(replace(SNAPSHOT, event_target=1_500_000), width=80, height=24))
    wanted = ("1,234,567 of 1,500,000", "123,456", "1,234,560", "2.5 ms", "1,234.5 ms", "118 MiB", "ready", "59/s")
    assert [figure for figure in (*wanted, "01:15  taking orders") if figure not in text] == []


def test_the_screen_has_the_last_events_uncut() -> None:
    text = "\n".join(printed(SNAPSHOT, width=80, height=24))
    for part in ("outbox.event.payment", "payment-1042", "PaymentReceived", "abcdef12"):
        assert text.count(part) == 8


def test_the_screen_does_not_jump_when_events_arrive() -> None:
    empty = replace(SNAPSHOT, count=replace(COUNT, recent=(), latency_p50_ms=None), rates=(), slot_lag_bytes=None)
    assert len(printed(empty, width=80, height=24)) == len(printed(SNAPSHOT, width=80, height=24))


def test_markup_in_a_key_is_text() -> None:
    odd = replace(SNAPSHOT, count=replace(COUNT, recent=(replace(EVENT, key="[red]x[/]"),)))
    assert any("[red]x[/]" in line for line in printed(odd, width=80, height=24))


def test_a_plain_line_has_the_same_figures() -> None:
    line = plain_line(SNAPSHOT)
    assert line.startswith("01:15  committed 1,234,567, rolled back 123,456, delivered 1,234,560, duplicates 3")
    assert "\n" not in line


def test_the_summary_says_that_all_is_well_only_when_it_is() -> None:
    assert "every committed event arrived, and no other" in summary_text(SUMMARY)
    broken = replace(SUMMARY, delivered=49_999, missing=1)
    assert "NOT what was committed" in summary_text(broken)
    assert "missing 1," in summary_text(broken)


def test_the_summary_fits_80_columns() -> None:
    assert max(len(line) for line in summary_text(SUMMARY).splitlines()) <= 80


def test_json_is_quiet_and_a_pipe_gets_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert type(choose_display(is_quiet=True)) is QuietDisplay
    assert type(choose_display(is_quiet=False)) is PlainDisplay


def test_plain_lines_tell_a_phase_once(capsys: pytest.CaptureFixture[str]) -> None:
    with PlainDisplay() as display:
        for snapshot in (SNAPSHOT, SNAPSHOT, replace(SNAPSHOT, phase="stopping")):
            display.show(snapshot)
    assert capsys.readouterr().out.splitlines() == ["taking orders", plain_line(SNAPSHOT), "stopping"]


def test_the_live_screen_gives_the_terminal_back() -> None:
    output = io.StringIO()
    with LiveDisplay(Console(file=output, force_terminal=True, width=80, height=24)) as display:
        display.show(SNAPSHOT)
    assert output.getvalue().count("\x1b[?1049h") == output.getvalue().count("\x1b[?1049l") == 1
