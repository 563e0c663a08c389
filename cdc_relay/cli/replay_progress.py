"""How far a run is: a bar on a terminal, a log line every few seconds otherwise. Shows; decides nothing."""

from __future__ import annotations

import sys
import time
from types import TracebackType

import structlog
from rich.console import Console
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from cdc_relay.republish import Progress

__all__ = ["ProgressView"]

log = structlog.get_logger()

_BAR_SECONDS, _LINE_SECONDS = 0.2, 5.0


class ProgressView:
    def __init__(self, run: str) -> None:
        self._run = run
        self._show_at = 0.0 if sys.stderr.isatty() else time.monotonic() + _LINE_SECONDS
        self._bar: Bar | None = None
        self._said = ""

    def __enter__(self) -> ProgressView:
        if sys.stderr.isatty():
            columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
            self._bar = Bar(*columns, TextColumn("{task.fields[counts]}"), console=Console(stderr=True))
            self._task = self._bar.add_task(self._run, total=None, counts="")
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, progress: Progress) -> None:
        now = time.monotonic()
        if progress.trouble != self._said:
            self._said = progress.trouble
            if progress.trouble:
                log.warning("run_waits", run=self._run, reason=progress.trouble)
        if now < self._show_at:
            return
        counts = progress.counts
        if self._bar is not None:
            self._show_at = now + _BAR_SECONDS
            shown = f"{counts.published:,} published, {counts.parked:,} parked"
            self._bar.update(
                self._task, completed=progress.done_blocks, total=progress.total_blocks or None, counts=shown
            )
            return
        self._show_at = now + _LINE_SECONDS
        log.info(
            "progress",
            run=self._run,
            percent=round(100 * progress.done_blocks / progress.total_blocks) if progress.total_blocks else None,
            read=counts.read,
            published=counts.published,
            parked=counts.parked,
            dropped=counts.dropped,
        )
