"""How `check` connects: as the configuration says, under a name of its own, and with its failures as findings."""

from __future__ import annotations

import re

from psycopg.conninfo import make_conninfo

from cdc_relay.admin.check.finding import Finding, fail, warn
from cdc_relay.config import RelayConfig
from cdc_relay.errors import RelayError
from cdc_relay.sources.line import Line
from cdc_relay.sources.remedy import Step, shell, sql, words
from cdc_relay.target import conninfo_of

__all__ = ["STATEMENT_SECONDS", "as_own", "failure", "not_seen", "open_line", "reach"]

STATEMENT_SECONDS = 10
_COMMAND = re.compile(r"(?:\w+ it: )?(cdc-relay \w+ -c FILE(?: --backfill)?)")


def as_own(conninfo: str, slot: str) -> str:
    """Not the relay's name: neither synchronous_standby_names nor an operator shall take a check for a relay."""
    return make_conninfo(conninfo, application_name=f"cdc-relay-check:{slot}"[:63])


def open_line(conninfo: str, *, setting: str = "source.dsn") -> Line:
    line = Line.open(conninfo, setting=setting)
    try:
        line.query(f"SET statement_timeout = '{STATEMENT_SECONDS}s'")
    except RelayError:
        line.close()
        raise
    return line


def reach(config: RelayConfig) -> Line | None:
    """The source; None where it cannot be reached, which is `postgres.reachable`."""
    try:
        return open_line(as_own(conninfo_of(config), config.source.slot))
    except RelayError:
        return None


def not_seen(name: str, exc: RelayError) -> Finding:
    """Postgres was there, and did not answer this question: nobody knows whether all is well."""
    return warn(name, f"could not be looked at: {exc.message}", words(exc.remedy or "see Postgres' own message"))


def failure(name: str, exc: RelayError) -> Finding:
    return fail(name, exc.message, *_steps(exc.remedy))


def _steps(remedy: str) -> tuple[Step, ...]:
    """Remedies of errors are sentences; those that are a command alone can be pasted."""
    if command := _COMMAND.fullmatch(remedy):
        return (shell(command[1]),)
    if remedy.startswith(("GRANT ", "ALTER ")):
        return (sql(remedy),)
    return (words(remedy),) if remedy else ()
