"""`--version` says which twins of the hot path work: an installation without a compiler is silent about it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from cdc_relay import __version__
from cdc_relay.native import is_native

HERE = "compiled" if is_native else "pure Python"


@pytest.mark.parametrize(("switch", "kind"), [({}, HERE), ({"CDC_RELAY_NATIVE": "0"}, "pure Python")])
def test_the_version_tells_whether_the_compiled_part_works(switch: dict[str, str], kind: str) -> None:
    command = [sys.executable, "-c", "from cdc_relay.cli import main; main()", "--version"]
    answer = subprocess.run(command, env={**os.environ, **switch}, capture_output=True, text=True, check=True)
    assert answer.stdout == f"cdc-relay, version {__version__} ({kind})\n"
