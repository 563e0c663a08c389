"""What the helper thread does with Postgres: preflight, opening the stream, and the checks while it runs.

Owns the catalog connection. Every call may block within limits; nothing here touches the loop's own objects.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from cdc_relay.errors import AwayError, RefusedError, SourceError
from cdc_relay.model import Standing
from cdc_relay.protocol.lsn import format_lsn
from cdc_relay.sources.catalog import OLDEST_VERSION, Facts, Fingerprint, read_facts, read_sync_state
from cdc_relay.sources.guard_table import explain_guard
from cdc_relay.sources.knock import CANNOT_CONNECT_NOW, Place, knock
from cdc_relay.sources.line import Line
from cdc_relay.sources.preflight import Finding, Wanted, find_problems, names_us_as_standby, refuse, standby_finding
from cdc_relay.sources.remedy import Way
from cdc_relay.sources.slot import SlotStream, start_stream
from cdc_relay.sources.slot_guard import SlotGuard
from cdc_relay.sources.unfinished_backfill import refuse_unfinished_backfill

__all__ = ["Checkup", "SlotSource"]


T = TypeVar("T")

_STATEMENT_LIMIT_SECONDS = 10
_READER = "SELECT active_pid FROM pg_replication_slots WHERE slot_name = $1"
_CHANGED_REMEDY = "cdc-relay setup -c FILE; then cdc-relay run -c FILE: what is missing is said there"


@dataclass(frozen=True, slots=True)
class Checkup:
    """A look at the catalog that found everything as it was."""

    lag_bytes: int | None
    room_bytes: tuple[int, int] | None = None  # of the WAL that is kept: left, and of how much; None: no limit


@dataclass(frozen=True, slots=True)
class _Sighting:
    """When and where the publication was last seen as it should be."""

    fingerprint: Fingerprint
    lsn: int
    at: float

    def __str__(self) -> str:
        return f"LSN {format_lsn(self.lsn)} ({datetime.fromtimestamp(self.at, UTC):%Y-%m-%d %H:%M:%S} UTC)"


class SlotSource:
    """One slot of one database."""

    def __init__(
        self,
        wanted: Wanted,
        *,
        catalog_conninfo: str,
        replication_conninfo: str,
        wal_sender_timeout_seconds: float,
        accept_gap: bool = False,
    ) -> None:
        self._wanted = wanted
        self._guard = SlotGuard(wanted, accept_gap=accept_gap)
        self._catalog_conninfo = catalog_conninfo
        self._replication_conninfo = replication_conninfo
        self._wal_sender_timeout_seconds = wal_sender_timeout_seconds
        self._line: Line | None = None
        self._place: Place | None = None  # where the catalog connection went last
        self._stream_place: Place | None = None
        self._backend_pid = 0
        self._seen: _Sighting | None = None
        self.server_is_leaving = False  # written by the helper thread, read by the loop

    def preflight(self) -> Checkup:
        """Refuse what is wrong before anything is read. On a new connection: the old one may be dead, or elsewhere."""
        self.server_is_leaving = False
        self.close()
        self._ask(lambda line: refuse_unfinished_backfill(line, self._wanted.slot))
        facts = self._facts()
        refuse(self._find_problems(facts))
        self._compare(facts)
        return Checkup(facts.lag_bytes, facts.room_bytes)

    def open(self) -> SlotStream:
        stream = start_stream(
            self._replication_conninfo,
            slot=self._wanted.slot,
            publication=self._wanted.publication,
            messages=self._wanted.reads_messages,
            wal_sender_timeout_seconds=self._wal_sender_timeout_seconds,
        )
        self._backend_pid = stream.backend_pid
        try:
            self._stream_place = stream.place
            self._require_one_server(stream.place)
            self.check()
        except BaseException:
            stream.close()
            raise
        return stream

    def check(self) -> Checkup:
        """RefusedError when the publication changed under us or when we have become a synchronous standby."""
        facts = self._look_again()
        self._compare(facts)
        if self._is_waited_for(facts):
            refuse([standby_finding(self._wanted.application_name, facts.synchronous_standby_names)])
        return Checkup(facts.lag_bytes, facts.room_bytes)

    def is_free(self) -> bool:
        """Whether nobody reads the slot; also when it is gone, which the next preflight says better."""
        rows = self._ask(lambda line: line.query(_READER, [self._wanted.slot]))
        return not rows or rows[0][0] is None

    def take_over(self) -> Standing:
        """The stream is open and nothing has been confirmed on it: where it begins, and how far it may be confirmed."""
        facts = self._look_again()
        self._require_one_server(self._stream_place)
        ceiling_lsn = self._ask(lambda line: self._guard.take_over(line, facts))
        return Standing(0 if facts.slot is None else facts.slot.confirmed_lsn, facts.wal_lsn, ceiling_lsn)

    def raise_ceiling(self, lsn: int) -> None:
        """Durable when it returns. AwayError: try again; SourceError: this line must not be confirmed any further."""
        seen = self._seen
        assert seen is not None, "no session without a preflight"
        try:
            is_ours = self._guard.raise_to(self._catalog(), lsn, seen_lsn=seen.lsn, seen_at=seen.at)
        except (SourceError, RefusedError) as exc:
            self.close()
            self._notice_leaving()
            raise explain_guard(exc, self._place) from exc
        if not is_ours:  # begin again: the next start looks at everything anew
            raise SourceError("the slot guard's row is gone, or the server is not the one that this line began with")

    def fileno(self) -> int | None:
        """What the helper watches between two jobs."""
        fileno = -1 if self._line is None else self._line.fileno()
        return None if fileno < 0 else fileno

    def look(self) -> None:
        """Something arrived unasked. A server that shuts down closes this connection first and takes no new one."""
        if self._line is None or not self._line.is_broken():
            return
        self.close()
        self._notice_leaving()
        if not self.server_is_leaving:
            with suppress(AwayError, RefusedError, SourceError):  # the next check says why, if it lasts
                self._catalog()  # listen again at once: the next goodbye may come any moment

    def close(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None

    def _notice_leaving(self) -> None:
        self.server_is_leaving = self._place is not None and knock(self._place) == CANNOT_CONNECT_NOW

    def _catalog(self) -> Line:
        if self._line is None:
            line = Line.open(self._catalog_conninfo)
            try:
                line.require_primary()
                line.query(f"SET statement_timeout = '{_STATEMENT_LIMIT_SECONDS}s'; SET lock_timeout = '3s'")
            except (AwayError, SourceError):
                line.close()
                raise
            self._line, self._place = line, line.place
        return self._line

    def _ask(self, question: Callable[[Line], T]) -> T:
        try:
            return question(self._catalog())
        except SourceError as exc:
            self.close()
            raise AwayError(f"Postgres' catalog could not be read: {exc.message}") from exc

    def _facts(self) -> Facts:
        slot, publication = self._wanted.slot, self._wanted.publication
        tables = [(outbox.schema, outbox.name) for outbox in self._wanted.tables]
        return self._ask(lambda line: read_facts(line, slot=slot, publication=publication, tables=tables))

    def _find_problems(self, facts: Facts) -> Iterator[Finding]:
        """What the guard says of a slot that is gone says more than that it is gone."""
        findings = list(find_problems(facts, self._wanted))
        if facts.server_version < OLDEST_VERSION:
            return iter(findings)
        try:
            problem = self._ask(lambda line: self._guard.look(line, facts))
        except RefusedError as exc:
            return iter([*findings, Finding(exc.message, exc.remedy)])
        if problem is None:
            return iter(findings)
        rest = find_problems(facts, self._wanted, with_slot=problem.can_be_accepted)
        return iter([*rest, problem.finding])  # last: it ends with the start

    def _foresee_remedy(self, facts: Facts) -> str:
        """What the next start would say; a guard that cannot be asked now hides nothing."""
        with suppress(AwayError):
            return "; then ".join(_as_one(list(self._find_problems(facts)))) or _CHANGED_REMEDY
        return _CHANGED_REMEDY

    def _require_one_server(self, place: Place | None) -> None:
        """A DSN may name several: what we check must be what we read."""
        if place != self._place:
            raise AwayError("the stream and the catalog reached different servers of source.dsn")

    def _look_again(self) -> Facts:
        """While the stream is healthy a catalog that cannot be read is only away, whatever the reason."""
        try:
            return self._facts()
        except (AwayError, RefusedError) as exc:
            self._notice_leaving()
            raise AwayError(exc.message, remedy=exc.remedy) from exc

    def _is_waited_for(self, facts: Facts) -> bool:
        """The setting tells it at once; sync_state only after a confirmation, and to roles that may read all stats."""
        if names_us_as_standby(facts.synchronous_standby_names, self._wanted.application_name):
            return True
        return self._ask(lambda line: read_sync_state(line, self._backend_pid)) not in ("", "async")

    def _compare(self, facts: Facts) -> None:
        now = _Sighting(facts.fingerprint, facts.wal_lsn, time.time())
        if self._seen is not None and self._seen.fingerprint != now.fingerprint:
            raise RefusedError(
                f"publication {self._wanted.publication} changed while the relay was reading: rows committed between"
                f" {self._seen} and {now} may be missing from the stream; nothing more was confirmed",
                remedy=self._foresee_remedy(facts),
            )
        self._seen = now


def _as_one(findings: Sequence[Finding]) -> Iterator[str]:
    """What to paste, and the last one's remedy, which ends with the start, as it is."""
    for finding in findings[:-1]:
        yield from (str(step) for step in finding.steps if step.way is not Way.WORDS)
    yield from (finding.remedy for finding in findings[-1:])
