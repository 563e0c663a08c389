"""One look at everything: the relay, the source and the lot, together in a Report. Judges nothing.

Owns the connections. Whatever cannot be asked is a trouble in the report; the rest is shown all the same.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

from cdc_relay.admin.status import facts
from cdc_relay.admin.status.lag import find_lag
from cdc_relay.admin.status.place import Place
from cdc_relay.admin.status.relay_reader import read_relay
from cdc_relay.admin.status.report import Postgres, Relay, Report, Slot, Trouble

__all__ = ["Lookout"]

_NOWHERE = Trouble(
    "relay",
    "http.listen names no place to ask: it is off (the relay serves no HTTP), or has port 0 (any free one)",
    "say where it serves: --url http://HOST:PORT; or set http.listen",
)


class Lookout:
    """`look` as often as wanted; `close` in the end."""

    def __init__(self, *, file: str, slot: str, url: str | None, source: Place, lot: Place | None) -> None:
        self._file = file
        self._slot = slot
        self._url = url
        self._source = source
        self._lot = lot  # None: in the source's database

    def look(self) -> Report:
        relay = _NOWHERE if self._url is None else read_relay(self._url, self._slot)
        self._source.visit("postgres")
        postgres, slot = self._read_slot()
        guard = self._source.ask("guard", partial(facts.read_guard, slot=self._slot))
        gaps = self._source.ask("gaps", partial(facts.read_gaps, slot=self._slot))
        backfill = self._source.ask("backfill", partial(facts.read_backfill, slot=self._slot))
        lot = self._visit_lot()
        known = relay if isinstance(relay, Relay) else None
        return Report(
            file=self._file,
            slot_name=self._slot,
            looked_at=datetime.now(UTC).isoformat(timespec="seconds"),
            url=self._url,
            postgres=postgres,
            slot=slot,
            relay=known,
            lag=find_lag(slot, known, guard),
            parked=lot.ask("parked", partial(facts.read_parked, slot=self._slot)),
            waiting_topics=lot.ask("waiting_topics", partial(facts.read_waiting_topics, slot=self._slot)),
            dead_errors=lot.ask("dead_errors", partial(facts.read_dead_errors, slot=self._slot)),
            guard=guard,
            run=lot.ask("run", partial(facts.read_run, slot=self._slot)),
            backfill=backfill,
            gaps=gaps,
            troubles=self._troubles(relay),
        )

    def close(self) -> None:
        self._source.close()
        if self._lot is not None:
            self._lot.close()

    def _read_slot(self) -> tuple[Postgres | None, Slot | None]:
        """The WAL's end first: a slot that gets on meanwhile is at most ahead of it."""
        postgres = self._source.ask("postgres", facts.read_postgres)
        if postgres is None:
            return None, None
        read = partial(facts.read_slot, slot=self._slot, wal_lsn=postgres.wal_lsn)
        return postgres, self._source.ask("slot", read)

    def _visit_lot(self) -> Place:
        if self._lot is None:
            return self._source
        self._lot.visit("parked")
        return self._lot

    def _troubles(self, relay: Relay | Trouble) -> tuple[Trouble, ...]:
        found = [relay] if isinstance(relay, Trouble) else []
        found += self._source.troubles
        return (*found, *(self._lot.troubles if self._lot is not None else ()))
