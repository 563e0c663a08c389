"""This process in cdc_relay.runs: what the run before left behind, the note of what is being processed, and the end."""

from __future__ import annotations

import time
from collections.abc import Sequence

import orjson

from cdc_relay.errors import AwayError, RefusedError
from cdc_relay.model import Identity
from cdc_relay.parking.lot_line import LotLine
from cdc_relay.parking.surveyor import Notes, read_notes, write_note
from cdc_relay.parking.values import as_timestamp
from cdc_relay.protocol.lsn import format_lsn

__all__ = ["Run"]


class Run:
    def __init__(self, line: LotLine, *, slot: str, outboxes: Sequence[str]) -> None:
        self._line = line
        self._slot = slot
        self._outboxes = sorted(outboxes)
        self._began_at = as_timestamp(time.time_ns() // 1000)  # by which a run knows its own row

    def read_last(self) -> tuple[bool, list[str]]:
        """Whether the run before died, and which outboxes it had."""
        rows = self._line.query("last_run", self._slot, self._began_at)
        if not rows:
            return False, []
        [(has_died, outboxes)] = rows
        return has_died == b"true", orjson.loads(outboxes or b"[]")

    def begin(self, confirmed_lsn: int) -> tuple[int, Notes]:
        """How many runs died at this position, and at which records."""
        outboxes = orjson.dumps(self._outboxes).decode()
        values = (self._slot, self._began_at, format_lsn(confirmed_lsn), outboxes)
        [(deaths, suspects)] = self._line.query("begin_run", *values)
        return int(deaths or 0), read_notes(suspects)

    def require_same_rows(self, identities: frozenset[Identity], before: list[str]) -> None:
        """A row's number in its transaction is part of its identity, and only rows of configured outboxes count."""
        if not identities or not before or before == self._outboxes:
            return
        newest = format_lsn(max(identity[1] for identity in identities))
        raise RefusedError(
            f"the outboxes changed from {', '.join(before)} to {', '.join(self._outboxes)} while the slot may deliver"
            f" transactions again of which parts are parked, up to {newest}: parked rows would be mistaken for others",
            remedy=f"start the relay once more with the outboxes as they were, until confirmed_flush_lsn of slot"
            f" {self._slot} is above {newest}; stop it, and change them then",
        )

    def open_note(self, identity: Identity, count: int) -> None:
        if not self._line.query("open_note", self._slot, self._began_at, write_note(identity, count)):
            raise AwayError("the lot has no row for this run in cdc_relay.runs", remedy="restart the relay")

    def close_note(self) -> None:
        self._line.query("close_note", self._slot, self._began_at)

    def forget_handfuls(self) -> None:
        self._line.query("forget_handfuls", self._slot, self._began_at)

    def end(self) -> None:
        self._line.query("end_run", self._slot, self._began_at)
