"""Every command's help has an example, and click takes it."""

from __future__ import annotations

import re
import shlex

import click
import pytest

from cdc_relay.cli import cli
from cdc_relay.cli.reference import walk

EXAMPLE = re.compile(r"^\s*(?:Example: )?(cdc-relay .+)$", re.MULTILINE)
COMMANDS = {path: command for path, command in walk("cdc-relay", cli) if not isinstance(command, click.Group)}


@pytest.mark.parametrize("path", COMMANDS)
def test_a_command_has_examples_with_options_that_it_has(path: str) -> None:
    command, depth = COMMANDS[path], len(path.split())
    examples = [shlex.split(line.partition(" > ")[0]) for line in EXAMPLE.findall(command.help or "")]
    assert examples
    for words in examples:
        assert words[:depth] == path.split()
        command.make_parser(click.Context(command)).parse_args(words[depth:])  # UsageError: there is no such option
