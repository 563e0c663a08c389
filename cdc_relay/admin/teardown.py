"""`cdc-relay teardown`: takes down what setup made, after a look at what would be lost.

Owns the order: everything in one transaction, the slot last, because no rollback brings a slot back. The guard's rows
go with the slot: it watches for slots that vanish, and this one vanishes on purpose; left behind, it would refuse the
next slot of that name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager

from cdc_relay.admin.teardown_facts import (
    SchemaThere,
    count_waiting_rows,
    read_processes,
    read_publication,
    read_schema,
    read_slot,
)
from cdc_relay.admin.teardown_plan import Step, TeardownFacts, find_obstacles, steps_at_lot, steps_at_source
from cdc_relay.admin.teardown_refusals import explained
from cdc_relay.config import quote_identifier
from cdc_relay.sources.line import Line
from cdc_relay.sources.preflight import Wanted, refuse
from cdc_relay.sources.schema import grants

__all__ = ["Teardown"]

_CONNECT = "the role must be allowed to connect"
_LIMIT_SECONDS = 60  # for locks of others: say so instead of hanging


class Teardown:
    """One look, and, if wanted, the deed. `close` it."""

    def __init__(self, conninfo: str, wanted: Wanted, *, parking_conninfo: str | None = None) -> None:
        self._conninfo = conninfo
        self._wanted = wanted
        self._lines = ExitStack()
        self._source = self._open(conninfo, "source.dsn")
        self._lot = None if parking_conninfo is None else self._open(parking_conninfo, "parking.dsn")

    def close(self) -> None:
        self._lines.close()

    def look(self) -> TeardownFacts:
        """RefusedError while somebody needs what would go."""
        line, wanted = self._source, self._wanted
        schema = self._read_schema(line)
        with explained("read the catalog", needs="the role of source.dsn must be allowed to read pg_catalog"):
            slot = read_slot(line, wanted.slot)
            facts = TeardownFacts(
                database=line.place.database,
                slot=slot,
                waiting_rows=None,
                processes=tuple(read_processes(line, wanted.application_name)),
                publication=read_publication(line, wanted),
                schema=schema,
                lot=schema if self._lot is None else self._read_schema(self._lot),
                lot_is_elsewhere=self._lot is not None,
            )
        refuse(find_obstacles(facts, wanted))
        return facts if slot is None else facts.with_waiting_rows(count_waiting_rows(self._conninfo, wanted))

    def carry_out(self, facts: TeardownFacts, *, with_lot: bool) -> list[str]:
        """What was done. Nothing is, if anything fails before the end."""
        at_source = list(steps_at_source(facts, self._wanted, role=self._source.place.user, with_lot=with_lot))
        if self._lot is None or not with_lot:
            with _transaction(self._source):
                return list(_run(self._source, at_source))
        at_lot = list(steps_at_lot(facts, self._wanted, role=self._lot.place.user))
        with _transaction(self._lot):  # the outer one: what it needs is known before the slot is gone
            done = list(_run(self._lot, at_lot))
            with _transaction(self._source):
                done += _run(self._source, at_source)
        return done

    def _open(self, conninfo: str, setting: str) -> Line:
        line = self._lines.enter_context(closing(Line.open(conninfo, setting=setting)))
        line.require_primary(setting)
        with explained("connect", needs=_CONNECT):
            line.query(f"SET statement_timeout = '{_LIMIT_SECONDS}s'")
        return line

    def _read_schema(self, line: Line) -> SchemaThere | None:
        with explained("read the schema cdc_relay", needs=grants(quote_identifier(line.place.user))):
            return read_schema(line, self._wanted.slot)


@contextmanager
def _transaction(line: Line) -> Iterator[None]:
    """What fails ends the command, and with its line the transaction."""
    with explained("begin a transaction", needs=_CONNECT):
        line.query("BEGIN")
    yield
    with explained("commit", needs=_CONNECT):
        line.query("COMMIT")


def _run(line: Line, steps: Iterable[Step]) -> Iterator[str]:
    for step in steps:
        with explained(step.title.partition(":")[0], needs=step.needs):
            for statement in step.statements:
                line.query(statement, timeout_seconds=_LIMIT_SECONDS + 5)
        yield step.title
