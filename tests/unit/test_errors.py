"""The error tree: the drawing in its docstring is the code, and what an operator reads ends with what to do."""

from __future__ import annotations

import re

import pytest

from cdc_relay import errors
from cdc_relay.errors import RelayError

DRAWN = re.compile(r"^(?P<branch>[│├└─ ]*)(?P<name>\w+Error)\s+exit (?P<code>\d)\s+\S", re.MULTILINE)


def drawing() -> list[tuple[int, str, int]]:
    """(depth, class, exit code) of each line of the drawing."""
    return [
        (len(line["branch"]) // 4, line["name"], int(line["code"])) for line in DRAWN.finditer(errors.__doc__ or "")
    ]


def tree() -> list[type[RelayError]]:
    return [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, RelayError)]


def test_every_error_is_drawn_with_its_exit_code() -> None:
    assert {(name, code) for _, name, code in drawing()} == {(error.__name__, error.exit_code) for error in tree()}


def test_every_error_hangs_where_it_is_drawn() -> None:
    ancestors: list[str] = []
    for depth, name, _ in drawing():
        ancestors[depth:] = [name]
        bases = [base.__name__ for base in getattr(errors, name).__mro__ if issubclass(base, RelayError)]
        assert bases == ancestors[::-1]


def test_every_error_is_exported() -> None:
    assert set(errors.__all__) == {error.__name__ for error in tree()}


@pytest.mark.parametrize("error", tree())
def test_an_error_says_what_happened_and_what_to_do(error: type[RelayError]) -> None:
    said = str(error("the slot is lost", remedy="run cdc-relay setup"))
    assert said == "the slot is lost\n  what to do: run cdc-relay setup"


def test_an_error_without_a_remedy_promises_none() -> None:
    assert str(RelayError("it broke")) == "it broke"


@pytest.mark.parametrize("error", tree())
def test_exit_codes_are_those_of_the_commands(error: type[RelayError]) -> None:
    assert error.exit_code in (1, 2, 3)
