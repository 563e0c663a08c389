"""Types of values on the command line that several commands share. Reads nothing but the value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from cdc_relay.parking.desk_filter import parse_text

__all__ = ["TEXT", "Parsed"]


class Parsed(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions of click only
    """A value that a parser reads, or refuses with a ValueError."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except ValueError as exc:
            self.fail(str(exc), param, ctx)


TEXT = Parsed("TEXT", parse_text)
