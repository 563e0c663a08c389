"""`cdc-relay config`: what is in effect, and the schema for editors."""

from __future__ import annotations

import json
from pathlib import Path

import click
import yaml

from cdc_relay.cli.options import config_option
from cdc_relay.config import hide, json_schema, load

__all__ = ["config_group"]


@click.group("config")
def config_group() -> None:
    """Look at the configuration."""


@config_group.command("show")
@config_option
def show_command(config_path: Path) -> None:
    """Print the effective configuration as YAML: defaults filled in, secrets hidden.

    Example: cdc-relay config show -c relay.yaml
    """
    shown = hide(load(config_path))
    click.echo(yaml.safe_dump(shown, sort_keys=False, allow_unicode=True, width=120), nl=False)


@config_group.command("schema")
def schema_command() -> None:
    """Print the JSON Schema of the configuration file, for editors.

    Example: cdc-relay config schema > cdc-relay.schema.json
    """
    click.echo(json.dumps(json_schema(), indent=2, ensure_ascii=False))
