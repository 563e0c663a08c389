"""Options that several commands share. Declares them only; reads no file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

__all__ = ["config_option"]

_Command = TypeVar("_Command", bound=Callable[..., Any])


def config_option(command: _Command) -> _Command:
    """-c/--config FILE, passed as `config_path`. That it is missing or wrong is for config.load() to say."""
    return click.option(
        "-c",
        "--config",
        "config_path",
        metavar="FILE",
        type=click.Path(path_type=Path),
        required=True,
        envvar="CDC_RELAY_CONFIG",
        show_envvar=True,
        help="Configuration file (YAML).",
    )(command)
