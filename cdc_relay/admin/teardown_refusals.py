"""What Postgres' refusals mean to the operator of teardown, and what helps."""

from __future__ import annotations

from contextlib import AbstractContextManager

from cdc_relay.admin.translation import NO_RIGHT, translated
from cdc_relay.errors import AwayError, RefusedError, RelayError
from cdc_relay.sources.line import QueryError

__all__ = ["explained"]

_IN_USE, _NEEDED_BY_OTHERS = "55006", "2BP01"
_TOOK_TOO_LONG = ("57014", "55P03", "40P01")  # statement timeout, lock timeout, deadlock
_REPEAT = "run teardown again: it takes down what is left"
_REMEDIES = {
    _IN_USE: f"stop every cdc-relay of this slot (SIGTERM), then {_REPEAT}",
    _NEEDED_BY_OTHERS: "somebody built upon the schema, or keeps a table in it: see \\d+ cdc_relay.*; move that"
    " elsewhere (ALTER TABLE cdc_relay.NAME SET SCHEMA public) or drop it; or drop all at once:"
    f" DROP SCHEMA cdc_relay CASCADE; then {_REPEAT}",
}


def explained(step: str, *, needs: str) -> AbstractContextManager[None]:
    """Failures of one step as our own errors; `needs` is what helps where the role may not."""
    return translated(step, repeat=_REPEAT, refuse=lambda exc: _refuse(exc, step, needs))


def _refuse(exc: QueryError, step: str, needs: str) -> RelayError:
    if exc.sqlstate in _TOOK_TOO_LONG:
        return AwayError(f"{step}: {exc.message}", remedy=f"see pg_stat_activity for who holds locks; {_REPEAT}")
    if exc.sqlstate == NO_RIGHT:
        return RefusedError(f"{step}: {exc.message}; nothing was changed", remedy=needs)
    remedy = _REMEDIES.get(exc.sqlstate, f"see Postgres' own message; {_REPEAT}")
    return RefusedError(f"{step}: {exc.message}; nothing was changed", remedy=remedy)
