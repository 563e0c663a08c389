"""Options that the dlq commands share, and how they become a Filter. Declares and translates; opens nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from cdc_relay.cli.param_types import TEXT, Parsed
from cdc_relay.model import ErrorClass
from cdc_relay.parking.desk_filter import LIVE, Filter, parse_key, parse_since
from cdc_relay.parking.entry import Status

__all__ = [
    "Filters",
    "all_option",
    "all_slots_option",
    "filter_options",
    "given_filters",
    "json_option",
    "yes_option",
]

_Command = TypeVar("_Command", bound=Callable[..., Any])
_KEPT = "cdc_relay.dlq.filters"
_STATUSES = [*(str(status) for status in Status), "all"]
_TYPES: dict[str, Any] = {
    "status": click.Choice(_STATUSES),
    "route": TEXT,
    "topic": TEXT,
    "key": Parsed("KEY", parse_key),
    "error-class": click.Choice([str(kind) for kind in ErrorClass]),
    "since": Parsed("WHEN", parse_since),
    "text": TEXT,
}
_HELP = {
    "status": "Only this status; may be repeated.",
    "route": "Only of this route.",
    "topic": "Only for this topic.",
    "key": r"Only with this key; \x and hex digits for one that is not text.",
    "error-class": "Only with this class of error.",
    "since": "Only what was parked or failed since: 30m, 2h, 7d ago, or a time (UTC unless it says).",
    "text": "Only with this text in error, event id, type, correlation id or tenant (in any case), or payload.",
}
_METAVARS = {"route": "NAME", "topic": "NAME", "key": "KEY", "since": "WHEN", "text": "TEXT"}


class Filters:
    """What the filter options of the running command said."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.statuses: tuple[str, ...] = values["status"]
        self._values = {name: value for name, value in values.items() if name != "status"}

    def __bool__(self) -> bool:
        return bool(self.statuses) or any(value is not None for value in self._values.values())

    def for_slot(self, slot: str | None, *, default: tuple[Status, ...] = LIVE) -> Filter:
        """Without a status, those of `default`."""
        chosen = self.statuses or tuple(map(str, default))
        return Filter(slot=slot, statuses=() if "all" in chosen else chosen, **self._values)


def filter_options(command: _Command) -> _Command:
    """--status, --route and so on, and --where NAME=VALUE for each of them; `given_filters` has what they said."""
    where = click.option(
        "--where",
        multiple=True,
        metavar="NAME=VALUE",
        expose_value=False,
        callback=_keep,
        help="The same filters in another spelling, as in --where topic=orders; may be repeated.",
    )
    command = where(command)
    for name in reversed(_TYPES):
        command = _filter_option(name)(command)
    return command


def given_filters() -> Filters:
    context = click.get_current_context()
    values: dict[str, Any] = dict(context.meta[_KEPT])
    for spelled in values.pop("where"):
        _add(values, spelled, context)
    return Filters(values)


def _filter_option(name: str) -> Callable[[_Command], _Command]:
    return click.option(
        f"--{name}",
        type=_TYPES[name],
        multiple=name == "status",
        metavar=_METAVARS.get(name),
        expose_value=False,
        callback=_keep,
        help=_HELP[name],
    )


def _keep(context: click.Context, param: click.Parameter, value: Any) -> None:
    context.meta.setdefault(_KEPT, {})[param.name] = value


def _add(values: dict[str, Any], spelled: str, context: click.Context) -> None:
    name, equals, text = spelled.partition("=")
    name = name.strip().replace("_", "-")
    if not equals or name not in _TYPES:
        raise click.BadParameter(f"expected NAME=VALUE with one of {', '.join(_TYPES)}", context, param_hint="--where")
    place, value = name.replace("-", "_"), _TYPES[name].convert(text, None, context)
    if values[place] and name != "status":
        raise click.BadParameter(f"{name} is given twice", context, param_hint="--where")
    values[place] = (*values[place], value) if name == "status" else value


def json_option(command: _Command) -> _Command:
    return click.option("--json", "as_json", is_flag=True, help="JSON instead of text.")(command)


def yes_option(command: _Command) -> _Command:
    return click.option("--yes", is_flag=True, help="Do not ask, however many records it is.")(command)


def all_slots_option(command: _Command) -> _Command:
    return click.option("--all-slots", is_flag=True, help="The lots of all slots in this database.")(command)


def all_option(command: _Command) -> _Command:
    return click.option("--all", "take_all", is_flag=True, help="Every record that the filters find, instead of IDs.")(
        command
    )
