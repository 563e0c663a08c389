"""What the demo shows: a snapshot in, something to print out. Pure; owns no terminal and no clock.

The screen fits 80 x 24; a wider terminal gives the columns more room.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from cdc_relay.admin.status.sparkline import sparkline
from cdc_relay.demo.tally import Count, Delivery, Summary

__all__ = ["Snapshot", "plain_line", "screen", "summary_text"]

_EVENT_LINE_COUNT = 8
_SPARKLINE_LENGTH = 50


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The whole demo at one moment."""

    phase: str  # what the demo is doing, in words
    uptime_seconds: float
    count: Count
    rates: tuple[float, ...]  # deliveries per second, oldest first
    slot_lag_bytes: int | None
    relay_state: str
    event_target: int | None


def screen(snapshot: Snapshot) -> RenderableType:
    return Group(_pipeline(), _figures(snapshot), _events(snapshot.count.recent), _footer(snapshot))


def plain_line(snapshot: Snapshot) -> str:
    """One line, for an output that is no terminal."""
    count = snapshot.count
    return (
        f"{_clock(snapshot.uptime_seconds)}  committed {_with_target(count.committed, snapshot.event_target)}, "
        f"rolled back {count.rolled_back:,}, delivered {count.delivered:,}, duplicates {count.duplicates:,}, "
        f"rate {_rate(snapshot.rates)}, latency p50 {_milliseconds(count.latency_p50_ms)} "
        f"p99 {_milliseconds(count.latency_p99_ms)}, slot lag {_size(snapshot.slot_lag_bytes)}, "
        f"relay {snapshot.relay_state}"
    )


def summary_text(summary: Summary) -> str:
    """The closing words."""
    verdict = "every committed event arrived, and no other" if summary.is_exact else "NOT what was committed"
    latency = f"p50 {_milliseconds(summary.latency_p50_ms)}, p99 {_milliseconds(summary.latency_p99_ms)}"
    return (
        f"committed  {summary.committed:>9,}  and {summary.rolled_back:,} rows rolled back\n"
        f"delivered  {summary.delivered:>9,}  missing {summary.missing:,}, unexpected {summary.unexpected:,}, "
        f"duplicates {summary.duplicates:,}\n"
        f"rate       {summary.per_second:>7,.0f}/s  commit to consumer: {latency}\n"
        f"verdict    {verdict}"
    )


def _pipeline() -> Panel:
    parts = ("Postgres", "replication slot", "cdc-relay", "Kafka", "consumer")
    picture = Text(" ──▶ ", style="dim").join(Text(part, style="bold") for part in parts)
    picture.justify = "center"
    return _panel(picture, "cdc-relay demo")


def _figures(snapshot: Snapshot) -> Panel:
    table = Table.grid(expand=True, padding=(0, 1))
    for style, ratio in (("dim", 4), ("bold", 6), ("dim", 3), ("bold", 4)):
        table.add_column(style=style, no_wrap=True, ratio=ratio)
    for row in _figure_rows(snapshot, snapshot.count):
        table.add_row(*row)
    return _panel(Group(table, _rate_line(snapshot.rates)), "orders in, records out")


def _figure_rows(snapshot: Snapshot, count: Count) -> tuple[tuple[str | Text, ...], ...]:
    committed = _with_target(count.committed, snapshot.event_target)
    return (
        ("rows committed", committed, "latency p50", _milliseconds(count.latency_p50_ms)),
        ("rows rolled back", f"{count.rolled_back:,}", "latency p99", _milliseconds(count.latency_p99_ms)),
        ("records delivered", Text(f"{count.delivered:,}", "green"), "slot lag", _size(snapshot.slot_lag_bytes)),
        ("duplicates", f"{count.duplicates:,}", "relay", _state(snapshot.relay_state)),
    )


def _rate_line(rates: Sequence[float]) -> Text:
    bars = sparkline(rates, length=_SPARKLINE_LENGTH)
    return Text.assemble(("rate  ", "dim"), (f"{_rate(rates):<12}", "bold"), (bars, "green"))


def _events(deliveries: Sequence[Delivery]) -> Panel:
    """Newest last, and always the same number of lines: the screen must not jump."""
    table = Table(box=None, expand=True, padding=(0, 1, 0, 0), header_style="dim")
    for name, ratio in (("topic", 5), ("key", 3), ("type", 4), ("id", 2)):
        table.add_column(name, ratio=ratio, no_wrap=True)
    for delivery in deliveries[-_EVENT_LINE_COUNT:]:
        table.add_row(Text(delivery.topic), Text(delivery.key), Text(delivery.type, "cyan"), _short_id(delivery))
    for _ in range(_EVENT_LINE_COUNT - len(deliveries)):
        table.add_row()
    return _panel(table, "the last events, as the consumer received them")


def _footer(snapshot: Snapshot) -> Text:
    return Text(f" {_clock(snapshot.uptime_seconds)}  {snapshot.phase} (Ctrl-C: stop cleanly)", style="dim")


def _panel(content: RenderableType, title: str) -> Panel:
    return Panel(content, title=title, title_align="left", border_style="blue")


def _state(state: str) -> Text:
    return Text(state, "green" if state == "ready" else "yellow")


def _short_id(delivery: Delivery) -> str:
    return str(delivery.id)[:8] if delivery.id else "?"


def _with_target(value: int, target: int | None) -> str:
    return f"{value:,}" if target is None else f"{value:,} of {target:,}"


def _rate(rates: Sequence[float]) -> str:
    return f"{rates[-1]:,.0f}/s" if rates else "-"


def _milliseconds(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f} ms"


def _size(byte_count: int | None) -> str:
    if byte_count is None:
        return "-"
    for unit, unit_size in (("MiB", 1_048_576), ("KiB", 1_024)):
        if byte_count >= 10 * unit_size:
            return f"{byte_count / unit_size:,.0f} {unit}"
    return f"{byte_count:,} B"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes:02}:{rest:02}"
