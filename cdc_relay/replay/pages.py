"""The next page, read ahead on a helper thread while the one before is published."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial

import structlog

from cdc_relay.errors import AwayError
from cdc_relay.replay.page import Page
from cdc_relay.replay.position import Position
from cdc_relay.replay.reader import PageReader

__all__ = ["Pages"]

log = structlog.get_logger()

_RETRY_SECONDS = 1.0

Submit = Callable[[Callable[[], Page]], "Future[Page]"]


class Pages:
    def __init__(self, reader: PageReader, *, submit: Submit, position: Position) -> None:
        self.trouble = ""  # why nothing can be read now
        self._reader = reader
        self._submit = submit
        self._position = position  # behind what was read
        self._future: Future[Page] | None = None
        self._retry_at = 0.0

    @property
    def is_over(self) -> bool:
        return self._future is None and self._reader.is_over(self._position)

    def take(self, now: float) -> Page | None:
        """The next one, if it has been read; the one after it is asked for."""
        page = self._look(now)
        if self._future is None and now >= self._retry_at and not self._reader.is_over(self._position):
            self._future = self._submit(partial(self._reader.read, self._position))
        return page

    def _look(self, now: float) -> Page | None:
        if self._future is None or not self._future.done():
            return None
        future, self._future = self._future, None
        try:
            page = future.result()
        except AwayError as exc:
            self._retry_at = now + _RETRY_SECONDS
            if exc.message != self.trouble:
                self.trouble = exc.message
                log.warning("reading_waits", reason=exc.message, remedy=exc.remedy or None)
            return None
        self.trouble = ""
        self._position = page.end
        for notice in page.notices:
            log.warning("reading", notice=notice)
        return page
