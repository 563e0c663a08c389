"""A database that `status` looks at: a line that is kept while it is good, and every error as a Trouble."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from cdc_relay.admin.status.queries import SETTINGS
from cdc_relay.admin.status.report import Trouble
from cdc_relay.config import quote_identifier
from cdc_relay.errors import AwayError, RefusedError, SourceError
from cdc_relay.sources.line import Line, QueryError
from cdc_relay.sources.schema import grants

__all__ = ["Place"]

T = TypeVar("T")

_MISSING = ("42P01", "3F000", "42703")  # table, schema, column
_NO_RIGHT = "42501"


class Place:
    """Never raises what an operator has to know: `troubles` has it, by section."""

    def __init__(self, conninfo: str, *, setting: str, setup: str) -> None:
        self.troubles: list[Trouble] = []
        self._conninfo = conninfo
        self._setting = setting
        self._setup = setup  # the command that makes what is missing
        self._line: Line | None = None

    def visit(self, section: str) -> None:
        """Before each look. A connection that broke meanwhile is no news: the next one is."""
        self.troubles = []
        if self._line is not None and self._line.is_broken():
            self.close()
        if self._line is not None:
            return
        try:
            self._line = _open(self._conninfo, self._setting)
        except (AwayError, RefusedError, SourceError) as exc:
            self.troubles.append(Trouble(section, exc.message, exc.remedy or f"see {self._setting}"))

    def ask(self, section: str, question: Callable[[Line], T]) -> T | None:
        """None, with a trouble, where there was no answer; None without one where the place could not be visited."""
        if self._line is None:
            return None
        try:
            return question(self._line)
        except QueryError as exc:
            self.troubles.append(Trouble(section, exc.message, self._remedy(exc.sqlstate, self._line.place.user)))
        except SourceError as exc:
            self.troubles.append(Trouble(section, exc.message, f"see whether Postgres is up ({self._setting})"))
            self.close()
        return None

    def close(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None

    def _remedy(self, sqlstate: str, role: str) -> str:
        if sqlstate in _MISSING:
            return f"make the tables: {self._setup}"
        if sqlstate == _NO_RIGHT:
            return f"let the role read, as an owner: {grants(quote_identifier(role))}"
        return "see Postgres' own message, and look again"


def _open(conninfo: str, setting: str) -> Line:
    line = Line.open(conninfo, setting=setting)
    try:
        line.query(SETTINGS)
    except SourceError:
        line.close()
        raise
    return line
