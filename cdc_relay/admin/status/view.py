"""The live view of `status --watch`: reports in, a screen out, with what changed over time as sparklines. Pure."""

from __future__ import annotations

from collections import deque

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from cdc_relay.admin.status.advice import judge
from cdc_relay.admin.status.report import Report, Verdict
from cdc_relay.admin.status.sparkline import sparkline
from cdc_relay.admin.status.text import report_lines
from cdc_relay.parking.desk_text import size

__all__ = ["History", "screen"]

_LENGTH = 60
_COLOURS = {"ok": "green", "attention": "yellow", "act": "red"}


class History:
    """The last figures, oldest first; None where nobody knew."""

    def __init__(self) -> None:
        self.rates: deque[float | None] = deque(maxlen=_LENGTH)
        self.lags: deque[float | None] = deque(maxlen=_LENGTH)
        self.parked: deque[float | None] = deque(maxlen=_LENGTH)

    def add(self, report: Report) -> None:
        self.rates.append(report.relay.rate_per_second if report.relay else None)
        self.lags.append(report.lag.bytes)
        self.parked.append(None if report.parked is None else report.parked_count())


def screen(report: Report, history: History, *, interval_seconds: float) -> RenderableType:
    """What matters most is on top: a low terminal cuts the rest off."""
    when = f"{report.looked_at}, every {interval_seconds:g} s (Ctrl-C: end)"
    return Group(_verdict(judge(report), when), _figures(history), _details(report))


def _verdict(verdict: Verdict, when: str) -> Panel:
    panel = _panel(Text(verdict.text, style=f"bold {_COLOURS[verdict.level]}"), "is anything wrong?")
    panel.subtitle = Text(when, style="dim")
    return panel


def _figures(history: History) -> Panel:
    table = Table.grid(padding=(0, 1))
    for style in ("dim", "bold", "green"):
        table.add_column(style=style, no_wrap=True)
    table.add_row("rate", _newest(history.rates, "{:,.1f}/s"), _line(history.rates))
    lag = history.lags[-1] if history.lags else None
    table.add_row("lag", "-" if lag is None else size(int(lag)), _line(history.lags))
    table.add_row("parked", _newest(history.parked, "{:,.0f}"), _line(history.parked))
    return _panel(table, "over time")


def _details(report: Report) -> Panel:
    table = Table.grid(padding=(0, 1))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for title, text in report_lines(report):
        table.add_row(title, Text(text))  # a Text is never read as markup
    return _panel(table, f"slot {report.slot_name}")


def _line(values: deque[float | None]) -> str:
    return sparkline(list(values), length=_LENGTH)


def _newest(values: deque[float | None], pattern: str) -> str:
    newest = values[-1] if values else None
    return "-" if newest is None else pattern.format(newest)


def _panel(content: RenderableType, title: str) -> Panel:
    return Panel(content, title=title, title_align="left", border_style="blue")
