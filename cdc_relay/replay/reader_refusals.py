"""What Postgres' refusals mean to who reads a table, and what helps. The only place here that knows SQLSTATEs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cdc_relay.errors import AwayError, ConfigError, RefusedError, RelayError, SourceError
from cdc_relay.replay.selection import Selection
from cdc_relay.routing.outbox import Outbox
from cdc_relay.sources.line import QueryError

__all__ = ["explained"]

_NO_RIGHT, _TIMED_OUT, _NO_TABLE, _LOCKED = "42501", "57014", "42P01", "55P03"
_GOING_AWAY = ("57P", "08", "53")  # classes: shutting down, connection exceptions, out of resources
_ASKED = ("42", "22", "25")  # classes: what is written wrongly, values that are not of their type, and writing
_NOT_UTF_8 = ("22021", "22P05")


@contextmanager
def explained(outbox: Outbox, selection: Selection, *, on_away: Callable[[], None] | None = None) -> Iterator[None]:
    """`on_away`: after any failure nothing is known of the connection."""
    try:
        yield
    except SourceError as exc:
        if on_away is not None:
            on_away()
        raise _explain(exc, outbox, selection) from exc
    except AwayError:
        if on_away is not None:
            on_away()
        raise


def _explain(exc: SourceError, outbox: Outbox, selection: Selection) -> RelayError:
    if not isinstance(exc, QueryError) or exc.sqlstate.startswith(_GOING_AWAY):
        return AwayError(f"{outbox.label}: {exc.message}", remedy="check Postgres; it is tried again")
    if exc.sqlstate == _NO_RIGHT:
        return RefusedError(f"{outbox.label}: {exc.message}", remedy=_rights_remedy(exc.message, outbox))
    if exc.sqlstate in (_TIMED_OUT, _LOCKED):
        return RefusedError(
            f"{outbox.label}: {exc.message}",
            remedy="what was asked takes too long: ask for less in --where, or wait for who has the table locked",
        )
    if exc.sqlstate in _NOT_UTF_8:
        remedy = "a value has bytes that the database's encoding cannot translate: leave its row out with --where"
        return RefusedError(f"{outbox.label}: Postgres cannot send a row as UTF-8: {exc.message}", remedy=remedy)
    if exc.sqlstate.startswith(_ASKED) and (selection.where is not None or selection.ids is not None):
        option = "--where" if selection.ids is None else "--ids" if selection.where is None else "--where or --ids"
        remedy = "correct it, and begin again" + ("" if len(selection.outboxes) == 1 else "; --outbox names one table")
        return ConfigError(f"{option}: {outbox.label}: {exc.message}", remedy=remedy)
    return RefusedError(f"{outbox.label}: {exc.message}", remedy="see Postgres' own message")


def _rights_remedy(message: str, outbox: Outbox) -> str:
    if "row-level security" in message:
        return "ALTER ROLE <the role of source.dsn> BYPASSRLS: with row security it would not see every row"
    return f"give the role of source.dsn SELECT on {outbox.label} and USAGE on its schema"
