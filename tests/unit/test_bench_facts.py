"""What the benchmark says of the relay and of the servers that it measures."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.bench.facts import PURE, jar_version, relay_build, require_compiled

SWITCH = "CDC_RELAY_NATIVE"


def test_a_relay_that_is_not_compiled_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH, "0")
    with pytest.raises(SystemExit, match=f"is not compiled: {SWITCH}=0 is set"):
        require_compiled()


def test_pure_is_for_all_relays_and_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH, "1")
    require_compiled(pure=True)
    assert os.environ[SWITCH] == "0"
    assert relay_build() == PURE


def test_a_version_is_read_from_the_name_of_its_jar(tmp_path: Path) -> None:
    for name in ("kafka-clients-3.9.1.jar", "kafka-clients-extra-1.jar", "debezium-connector-postgres-3.2.7.Final.jar"):
        (tmp_path / name).touch()
    assert jar_version(tmp_path, "kafka-clients") == "3.9.1"
    assert jar_version(tmp_path, "debezium-connector-postgres") == "3.2.7.Final"
    assert jar_version(tmp_path, "connect-runtime") == ""
    assert jar_version("no java on this machine", "kafka-clients") == ""
