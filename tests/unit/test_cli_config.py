"""`cdc-relay config show` and `config schema`, as an operator sees them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from cdc_relay.cli.config import config_group
from cdc_relay.config import hide, load
from cdc_relay.errors import ConfigError

_FILE = """\
source:
  dsn: postgresql://relay@db/orders
  slot: orders
  publication: '"My Pub"'
sink: {kafka: {bootstrap.servers: 'k:1', linger.ms: 5, sasl.password: s3cret, client.id: '$${x}', log.queue: off}}
outboxes:
  - table: 'sales."Order.Outbox"'
    columns: {tenant: '"Tenant"'}
    routes:
      - {name: eu, when: {'"Region"': eu}, topic: 'a.{"Kind"}', ordering: strict, retry: {base: 1.5s, jitter: 0.00001}}
      - topic: rest
  - table: events
delivery: {retry: {preset: aggressive}}
parking: {dsn: 'postgresql://lot@db/lot', limit: {records: 7}, dead_letter_topic: dead}
http: {listen: off}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "relay.yaml"
    path.write_text(_FILE)
    return path


def test_what_show_prints_loads_as_the_same_configuration(file: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(config_group, ["show", "-c", str(file)], catch_exceptions=False)
    again = tmp_path / "again.yaml"
    again.write_text(result.stdout)
    assert result.exit_code == 0
    assert "s3cret" not in result.stdout
    assert hide(load(again)) == hide(load(file))
    assert "  drain: 30s\n" in result.stdout
    assert "    bytes: 8MiB\n" in result.stdout


def test_the_file_may_come_from_the_environment(file: Path) -> None:
    result = CliRunner().invoke(config_group, ["show"], env={"CDC_RELAY_CONFIG": str(file)})
    assert result.exit_code == 0


def test_without_a_file_it_is_a_usage_error() -> None:
    result = CliRunner().invoke(config_group, ["show"], env={"CDC_RELAY_CONFIG": None})
    assert result.exit_code == 2
    assert "-c" in result.output


def test_a_wrong_file_is_a_configuration_error(tmp_path: Path) -> None:
    result = CliRunner().invoke(config_group, ["show", "-c", str(tmp_path / "none.yaml")])
    assert isinstance(result.exception, ConfigError)


def test_the_schema_is_json() -> None:
    result = CliRunner().invoke(config_group, ["schema"])
    assert json.loads(result.stdout)["title"] == "cdc-relay configuration"
