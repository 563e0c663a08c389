"""Retention beside the stream: a pass now and then, on a thread and a connection of its own.

Only while this process reads the slot. It never ends the relay and never keeps it from ending: trouble is said once and
tried again at the next pass.
"""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Mapping

import structlog

from cdc_relay.admin.retention.kept import kept_tables
from cdc_relay.admin.retention.sweep import Sweep
from cdc_relay.admin.retention.swept import LOT, Swept
from cdc_relay.config import RelayConfig
from cdc_relay.errors import RelayError
from cdc_relay.stats import State, Stats
from cdc_relay.stop import Stop

__all__ = ["RetentionBeside"]

log = structlog.get_logger()

_FIRST_SECONDS = 60.0  # a start has other worries
_READING = (State.STREAMING, State.HOLDING)
_END_SECONDS = 1.0
_WHOLE = ""  # in place of a table: trouble of the whole pass


class RetentionBeside:
    def __init__(self, config: RelayConfig, *, stats: Stats, stop: Stop) -> None:
        self._stats = stats
        self._begin_counts(config)
        self._stop = stop
        self._every_seconds = config.retention.every_seconds
        self._sweep = Sweep(config, pause=self._pause, on_removed=self._count_removed)
        self._is_cut_short = False  # the pass that runs
        self._told: dict[str, tuple[str, ...]] = {}  # by table: what was said of it, so that it is said once
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """The first time only. Daemonic: nobody waits for it longer than `close` does."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="cdc-relay-retention", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """After the stop was requested: a batch that runs may end; one that takes longer is rolled back by Postgres."""
        if self._thread is not None:
            self._thread.join(_END_SECONDS)

    def _run(self) -> None:
        wait_seconds = min(_FIRST_SECONDS, self._every_seconds)
        while not self._wait(wait_seconds):
            if self._stats.state in _READING:
                self._pass()
            wait_seconds = self._every_seconds

    def _pass(self) -> None:
        troubles, swept_count = list[str](), 0
        self._is_cut_short = False
        try:
            for swept in self._sweep.run():
                swept_count += 1
                self._tell(swept)
                troubles += [f"{swept.label}: {swept.trouble}"] if swept.trouble else []
            self._told.pop(_WHOLE, None)  # should it come again, it is said again
        except RelayError as exc:  # nothing could be asked
            self._tell(Swept(_WHOLE, trouble=exc.message, remedy=exc.remedy))
            troubles.append(exc.message)
        except Exception as exc:  # noqa: BLE001 - the relay works without it
            troubles.append(f"{type(exc).__name__}: {exc}")
            log.warning("retention_trouble", reason=troubles[-1])
        if swept_count or troubles:
            self._note_end(troubles)

    def _note_end(self, troubles: list[str]) -> None:
        """A pass that was cut short has not shown that an earlier trouble is over."""
        now = time.time()
        if troubles or not self._is_cut_short:
            self._stats.upkeep.error = "; ".join(troubles)
        if not troubles and not self._is_cut_short:
            self._stats.upkeep.ran_at = now
        self._stats.upkeep.tried_at = now

    def _pause(self, seconds: float) -> bool:
        """True: go no further, because the relay stops or does not read the slot any more."""
        is_over = self._wait(seconds) or self._stats.state not in _READING
        self._is_cut_short |= is_over
        return is_over

    def _wait(self, seconds: float) -> bool:
        return bool(select.select([self._stop], [], [], seconds)[0])

    def _tell(self, swept: Swept) -> None:
        self._count_partitions(swept)
        if swept.is_change:
            made, dropped = list(swept.made) or None, list(swept.dropped) or None
            log.info("retention", table=swept.label, removed=swept.removed, made=made, dropped=dropped)
        said = (swept.trouble, *swept.notes)
        if said != self._told.get(swept.label, ("",)):
            self._warn(swept)
        self._told[swept.label] = said

    def _warn(self, swept: Swept) -> None:
        if swept.trouble:
            log.warning(
                "retention_trouble", table=swept.label or None, reason=swept.trouble, remedy=swept.remedy or None
            )
        for note in swept.notes:
            log.warning("retention_left_alone", table=swept.label, reason=note)

    def _begin_counts(self, config: RelayConfig) -> None:
        """A metric begins at 0."""
        tables = kept_tables(config)
        lot = [LOT] if config.retention.lot_seconds else []
        by_month = [table.label for table in tables if table.by_month]
        self._stats.upkeep.removed = dict.fromkeys([*lot, *(table.label for table in tables)], 0)
        self._stats.upkeep.made = dict.fromkeys(by_month, 0)
        self._stats.upkeep.dropped = dict.fromkeys(by_month, 0)

    def _count_removed(self, label: str, count: int) -> None:
        self._stats.upkeep.removed = _plus(self._stats.upkeep.removed, label, count)

    def _count_partitions(self, swept: Swept) -> None:
        stats = self._stats
        stats.upkeep.made = _plus(stats.upkeep.made, swept.label, len(swept.made))
        stats.upkeep.dropped = _plus(stats.upkeep.dropped, swept.label, len(swept.dropped))


def _plus(counts: Mapping[str, int], label: str, count: int) -> Mapping[str, int]:
    """Replaced, never changed: somebody may be reading it."""
    return {**counts, label: counts.get(label, 0) + count} if count else counts
