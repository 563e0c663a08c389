"""The lot in Postgres: cdc_relay.parked_records, for one slot. Every wait has a limit.

Owns what is taken out of the lot and not given back yet. For the helper thread, but for `was_notified`.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

import orjson

from cdc_relay.errors import AwayError
from cdc_relay.model import Identity, Policy
from cdc_relay.parking.claims import ClaimReader
from cdc_relay.parking.entry import Claim, Entry, Inventory, Mark, Survey
from cdc_relay.parking.lot_line import LotLine
from cdc_relay.parking.queries import padded, with_rows
from cdc_relay.parking.rows import ENTRY_FIELDS, MARK_FIELDS, Row, chunks, entry_row, mark_row
from cdc_relay.parking.run import Run
from cdc_relay.parking.surveyor import read_identities, read_survey
from cdc_relay.parking.troubles import IS_LOCKED, full
from cdc_relay.parking.values import as_bool
from cdc_relay.sources.line import Param, QueryError, RawRows

__all__ = ["PostgresLot"]

_CLAIM_BYTES = 8 << 20
_LOOK_AT = 2_000  # records of a topic that are looked at first; all of them only if none of these may go
_ALL = (1 << 63) - 1
_OVER = (b"published", b"discarded")
_STRAY_SECONDS = 40.0  # the server gives a statement 30 s: a claim whose answer was lost is committed by then, or never


class PostgresLot:
    def __init__(
        self,
        conninfo: str,
        *,
        slot: str,
        limit_records: int,
        limit_bytes: int,
        dead_letter_topic: str | None = None,
        policies: Mapping[str, Policy],
        outboxes: Sequence[str] = (),
        setting: str = "source.dsn",
    ) -> None:
        """`policies` by route name; `setting` is the key of the configuration that `conninfo` comes from."""
        self.was_notified = False
        self._line = LotLine(conninfo, setting=setting)
        self._slot = slot
        self._limit_records = limit_records
        self._limit_bytes = limit_bytes
        self._dead_letter_topic = dead_letter_topic
        self._reader = ClaimReader(policies, dead_letter_topic)
        self._run = Run(self._line, slot=slot, outboxes=outboxes)
        self._live_count = 0
        self._live_bytes = 0
        self._out: set[int] = set()  # ids that are claimed and not marked
        self._strays_until = 0.0  # a claim failed: it may be committed all the same, until then

    # --- the connection

    def open(self) -> None:
        self._line.open()
        self._note_news()

    def close(self) -> None:
        self._line.close()

    def fileno(self) -> int | None:
        fileno = self._line.fileno()
        return None if fileno < 0 else fileno

    def look(self) -> None:
        self._line.look()
        self._note_news()

    # --- what a session begins with

    def take_over(self, confirmed_lsn: int) -> Inventory:
        with self._call(), self._line.transaction():
            has_died, before = self._run.read_last()
            deaths, notes = self._run.begin(confirmed_lsn)
            self._line.query("release", self._slot, as_bool(has_died), "[]")
            self._line.query("wake", self._slot)
            identities = read_identities(self._line, self._slot, confirmed_lsn)
            self._run.require_same_rows(identities, before)
            survey = self._read_survey()
        self._out.clear()
        self._strays_until = 0.0
        return Inventory(
            identities,
            survey,
            deaths=deaths,
            suspects=notes.suspects,
            handfuls=notes.handfuls,
            confirmed_lsn=confirmed_lsn,
        )

    def survey(self) -> Survey:
        with self._call():
            if self._out:
                self._line.query("renew", self._slot, orjson.dumps(sorted(self._out)).decode())
            return self._read_survey()

    # --- in

    def park(self, entries: Sequence[Entry]) -> None:
        with self._call():
            if not any(entry.is_urgent for entry in entries):
                self._require_room()
            rows = [entry_row(entry, is_utf8=self._line.is_utf8) for entry in entries]
            added = self._run_rows("park", ENTRY_FIELDS, rows)
        self._live_count += len(added)
        self._live_bytes += sum(int(size or 0) for (size,) in added)

    def announce(self) -> None:
        """Tell the process that reads the slot that somebody else has parked something."""
        with self._call():
            self._line.query("announce", self._slot)

    # --- out

    def claim_due(self, *, closed_topics: Collection[str], limit: int) -> list[Claim]:
        closed = orjson.dumps(sorted(closed_topics)).decode()
        has_copies = self._dead_letter_topic is not None and self._dead_letter_topic not in closed_topics
        with self._claiming() as claims, self._line.transaction():
            claims += self._claim("claim_due", limit, closed)
            if has_copies:
                claims += self._claim_copies(limit - len(claims), sum(claim.size_bytes for claim in claims))
        return claims

    def claim_topic(self, topic: str, *, limit: int) -> list[Claim]:
        with self._claiming() as claims:
            claims += self._claim("claim_topic", limit, topic, str(max(_LOOK_AT, limit)))
            if not claims:
                claims += self._claim("claim_topic", limit, topic, str(_ALL))
        return claims

    def claim_key(self, topic: str, key: bytes | None, *, limit: int) -> list[Claim]:
        with self._claiming() as claims:
            try:
                claims += self._claim("claim_key", limit, topic, key)
            except AwayError as exc:
                if not _is_locked(exc):
                    raise
        return claims

    def mark(self, marks: Sequence[Mark]) -> None:
        with self._call():
            rows = [mark_row(mark, is_utf8=self._line.is_utf8) for mark in marks]
            marked = self._run_rows("mark", MARK_FIELDS, rows)
        self._out.difference_update(mark.claim.id for mark in marks)
        sizes = [int(size or 0) for _, status, size in marked if status in _OVER]
        self._live_count -= len(sizes)
        self._live_bytes -= sum(sizes)

    # --- crash poison

    def open_note(self, identity: Identity, *, count: int = 1) -> None:
        with self._call():
            self._run.open_note(identity, count)

    def close_note(self) -> None:
        with self._call():
            self._run.close_note()

    def forget_handfuls(self) -> None:
        with self._call():
            self._run.forget_handfuls()

    def end_run(self) -> None:
        with self._call():
            self._run.end()

    # --- inside

    @contextmanager
    def _call(self) -> Iterator[None]:
        try:
            yield
        finally:
            self._line.shrink()
            self._note_news()

    @contextmanager
    def _claiming(self) -> Iterator[list[Claim]]:
        """A claim whose answer was lost may be committed: nobody would ever publish it, unless it is released."""
        with self._call():
            self._release_strays()
            claims: list[Claim] = []
            try:
                yield claims
            except BaseException:
                self._strays_until = time.monotonic() + _STRAY_SECONDS
                raise
        self._out.update(claim.id for claim in claims)

    def _release_strays(self) -> None:
        """Again and again: the statement may outlive its line, and commit after the first look."""
        if self._strays_until:
            is_last = time.monotonic() > self._strays_until
            self._line.query("release", self._slot, "f", orjson.dumps(sorted(self._out)).decode())
            self._strays_until = 0.0 if is_last else self._strays_until

    def _claim(self, name: str, limit: int, *params: Param, budget: int = _CLAIM_BYTES) -> list[Claim]:
        rows = self._line.query(name, self._slot, str(limit), str(budget), *params)
        return [claim for row in rows if (claim := self._read_claim(row)) is not None]

    def _read_claim(self, row: tuple[bytes | None, ...]) -> Claim | None:
        try:
            return self._reader.read(row)
        except (AttributeError, KeyError, TypeError, ValueError) as exc:
            number, why = (row[0] or b"").decode(), f"the row cannot be read: {type(exc).__name__}"
            self._line.query("bury", self._slot, number, why)
            return None

    def _claim_copies(self, limit: int, used_bytes: int) -> list[Claim]:
        budget = _CLAIM_BYTES - used_bytes
        return self._claim("claim_copies", limit, budget=budget) if limit > 0 and budget > 0 else []

    def _read_survey(self) -> Survey:
        survey = read_survey(self._line, self._slot, has_copies=self._dead_letter_topic is not None)
        self._live_count, self._live_bytes = survey.live_count, survey.live_bytes
        return survey

    def _require_room(self) -> None:
        """While there is room a batch goes in whole, so that one larger than the limit is not kept out for ever."""
        if self._has_room():
            return
        self._read_survey()  # somebody may have made room
        if not self._has_room():
            records = f"{self._live_count:,} records (parking.limit.records: {self._limit_records:,})"
            size = f"{self._live_bytes:,} bytes (parking.limit.bytes: {self._limit_bytes:,})"
            raise full(records=records, size=size)

    def _has_room(self) -> bool:
        return self._live_count < self._limit_records and self._live_bytes < self._limit_bytes

    def _run_rows(self, name: str, fields: tuple[str, ...], rows: Sequence[Row]) -> RawRows:
        """All of them in one transaction, a statement per chunk."""
        parts = list(chunks(rows))
        if len(parts) == 1:
            return self._run_chunk(name, fields, parts[0])
        with self._line.transaction():
            return [answer for part in parts for answer in self._run_chunk(name, fields, part)]

    def _run_chunk(self, name: str, fields: tuple[str, ...], rows: Sequence[Row]) -> RawRows:
        size = padded(len(rows))
        params = [param for row in rows for param in row] + [None] * ((size - len(rows)) * len(fields))
        return self._line.run(with_rows(name, size, fields), [self._slot, *params], is_prepared=True)

    def _note_news(self) -> None:
        if any(payload in ("", self._slot) for payload in self._line.heard):
            self.was_notified = True
        self._line.heard.clear()


def _is_locked(exc: AwayError) -> bool:
    cause = exc.__cause__
    return isinstance(cause, QueryError) and cause.sqlstate == IS_LOCKED
