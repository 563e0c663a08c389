"""Which twins a relay uses, and that it delivers with either."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from cdc_relay.native import is_native
from tests.fixtures.fix_relay import MakeRelay, Pipeline
from tests.unit.native_rig import needs_native

ASK = (
    "from cdc_relay.delivery.twins import Window; from cdc_relay.sinks.librdkafka import find_native_producer;"
    " from cdc_relay.native import is_native; print(is_native, Window.__module__, find_native_producer())"
)


def ask(**env: str) -> str:
    inherited = {name: value for name, value in os.environ.items() if name != "CDC_RELAY_NATIVE"}
    command = [sys.executable, "-c", ASK]
    return subprocess.run(command, env={**inherited, **env}, capture_output=True, text=True, check=True).stdout.strip()


@needs_native
def test_what_is_compiled_is_used_unless_it_is_forbidden() -> None:
    assert ask() == "True cdc_relay.native.ledger <class 'cdc_relay.native.producer.Producer'>"
    assert ask(CDC_RELAY_NATIVE="1") == ask()


def test_python_s_own_is_used_where_the_compiled_is_forbidden() -> None:
    assert ask(CDC_RELAY_NATIVE="0") == "False cdc_relay.delivery.window None"


@pytest.mark.kafka
@pytest.mark.parametrize("env", [{"CDC_RELAY_NATIVE": "0"}, {}], ids=["python", "native"])
def test_a_relay_delivers_with_either(pipeline: Pipeline, make_relay: MakeRelay, env: dict[str, str]) -> None:
    if not env and not is_native:
        pytest.skip("cdc_relay.native is not in use")
    relay = make_relay(pipeline.config(), env=env).wait_ready()
    ids = [pipeline.insert() for _ in range(20)]
    records = pipeline.wait_for_records(20)
    assert [dict(record.headers() or [])["id"] for record in records] == [each.encode() for each in ids]
    assert relay.stop() == 0
