"""Where snapshots go: a live screen, plain lines, or nowhere. Owns the terminal; what is shown is view's business."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Protocol

from rich.console import Console
from rich.live import Live

from cdc_relay.demo.view import Snapshot, plain_line, screen

__all__ = ["Display", "LiveDisplay", "PlainDisplay", "QuietDisplay", "choose_display"]


class Display(Protocol):
    interval_seconds: float

    def __enter__(self) -> Display: ...

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None: ...

    def show(self, snapshot: Snapshot) -> None: ...


class QuietDisplay:
    """Shows nothing."""

    interval_seconds = 1.0

    def __enter__(self) -> Display:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        pass

    def show(self, snapshot: Snapshot) -> None:
        pass


class PlainDisplay(QuietDisplay):
    """A line for each new phase, and one per second while it lasts."""

    def __init__(self) -> None:
        self._phase = ""

    def show(self, snapshot: Snapshot) -> None:
        if snapshot.phase != self._phase:
            self._phase = snapshot.phase
            print(snapshot.phase, flush=True)
        else:
            print(plain_line(snapshot), flush=True)


class LiveDisplay:
    """The alternate screen of a terminal; what was there before comes back at the end."""

    interval_seconds = 0.25

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, screen=True, auto_refresh=False)

    def __enter__(self) -> Display:
        self._live.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self._live.__exit__(kind, exc, tb)

    def show(self, snapshot: Snapshot) -> None:
        self._live.update(screen(snapshot), refresh=True)


def choose_display(*, is_quiet: bool) -> Display:
    if is_quiet:
        return QuietDisplay()
    console = Console(file=sys.stdout)
    return LiveDisplay(console) if console.is_terminal and not console.is_dumb_terminal else PlainDisplay()
