"""No secret where others can read it: not in the most talkative log, on a page, in what a command prints, nor on a
command line. Every secret here is planted, and the suite's net (tests/fixtures/net.py) fails a test that shows one."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]  # carries no types
import pytest
import yaml

from tests.fixtures.fix_relay import MakePipeline, MakeRelay, Pipeline
from tests.fixtures.planted import KEY_PASSWORD, PASSWORD, PASSWORDS, SASL_PASSWORD
from tests.fixtures.relay_process import Config
from tests.integration.secured_kafka_rig import SecuredKafka, secured_kafka
from tests.integration.waiting_rig import assert_it_delivers

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.real_kafka,
    pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl on this machine"),
]

TALKATIVE = {"debug": "all", "log_level": "7"}
COMMANDS = [
    "config show",
    "check",
    "check --json",
    "status",
    "status --json",
    "topics plan",
    "dlq list",
    "setup --print",
]


@pytest.fixture(scope="module")
def secured() -> Iterator[SecuredKafka]:
    with secured_kafka() as kafka:
        yield kafka


@pytest.fixture
def pipeline(secured: SecuredKafka, make_pipeline: MakePipeline) -> Pipeline:
    pipeline = make_pipeline(kafka=secured.broker)
    secured.grant(pipeline.topic, "describe", "write")
    return pipeline


def full_of_secrets(pipeline: Pipeline, secured: SecuredKafka, **changes: str) -> Config:
    """Passwords of the database, of the lot's line, of the user, and of a key that only the password opens."""
    client = secured.authority.issue("relay", password=KEY_PASSWORD)
    key = {"ssl.key.location": str(client.key), "ssl.certificate.location": str(client.certificate)}
    key |= {"ssl.key.password": KEY_PASSWORD}
    kafka = secured.by("scram")["sink"]["kafka"] | key | TALKATIVE | changes
    dsn = pipeline.dsn(sslpassword=KEY_PASSWORD)
    return pipeline.config(dsn=dsn, sink={"kafka": kafka}, parking={"dsn": dsn}, topics={pipeline.topic: {}})


def test_the_most_talkative_relay_says_no_secret(
    pipeline: Pipeline, secured: SecuredKafka, make_relay: MakeRelay
) -> None:
    relay = make_relay(full_of_secrets(pipeline, secured), "--log-level", "debug").wait_ready()
    assert_it_delivers(pipeline, pipeline.insert())
    for page in ("/metrics", "/status", "/readyz", "/livez"):
        relay.get(page)  # heard by the net
    assert relay.stop() == 0
    assert "SCRAM-SHA-512" in relay.stderr  # librdkafka has told of its configuration and of the login
    assert_nothing_is_shown(relay.stderr + relay.stdout)


@pytest.mark.parametrize("wrong", ["sasl.password", "ssl.key.password"])
def test_a_refusal_at_its_most_talkative_says_no_secret(
    pipeline: Pipeline, secured: SecuredKafka, make_relay: MakeRelay, wrong: str
) -> None:
    config = full_of_secrets(pipeline, secured, **{wrong: "guessed-4711"})
    relay = make_relay(config, "--no-wait", "--log-level", "debug")
    assert relay.wait(60) in (2, 3)
    assert relay.stderr
    assert_nothing_is_shown(relay.stderr + relay.stdout)


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_prints_a_secret(pipeline: Pipeline, secured: SecuredKafka, command: str, tmp_path: Path) -> None:
    file = tmp_path / "relay.yaml"
    file.write_text(yaml.safe_dump(full_of_secrets(pipeline, secured)))
    line = [sys.executable, "-m", "cdc_relay", *command.split(), "-c", str(file)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=90, check=False)
    assert done.returncode in (0, 3), done.stderr
    assert done.stdout
    assert_nothing_is_shown(done.stdout + done.stderr)


def test_what_is_secret_is_marked_as_hidden(pipeline: Pipeline, secured: SecuredKafka, tmp_path: Path) -> None:
    file = tmp_path / "relay.yaml"
    file.write_text(yaml.safe_dump(full_of_secrets(pipeline, secured)))
    line = [sys.executable, "-m", "cdc_relay", "config", "show", "-c", str(file)]
    shown: Any = yaml.safe_load(subprocess.run(line, capture_output=True, text=True, timeout=90, check=True).stdout)
    kafka = shown["sink"]["kafka"]
    assert (kafka["sasl.password"], kafka["ssl.key.password"]) == ("***", "***")
    for dsn in (shown["source"]["dsn"], shown["parking"]["dsn"]):
        assert "password=***" in dsn
        assert "sslpassword=***" in dsn


def test_the_command_line_shows_no_secret_and_the_environment_is_its_owner_s(
    pipeline: Pipeline, secured: SecuredKafka, make_relay: MakeRelay
) -> None:
    """A password in the environment is the operator's choice; the system lets nobody else read it."""
    config = full_of_secrets(pipeline, secured)
    config["sink"]["kafka"]["sasl.password"] = "${KAFKA_PASSWORD}"
    environment = {"KAFKA_PASSWORD": f"relay-{SASL_PASSWORD}", "PGPASSWORD": PASSWORD}
    relay = make_relay(config, env=environment).wait_ready()
    process = psutil.Process(relay.pid)
    assert "cdc_relay" in " ".join(process.cmdline())
    assert_nothing_is_shown(" ".join(process.cmdline()))
    assert process.children(recursive=True) == []
    found = os.stat(f"/proc/{relay.pid}/environ")  # noqa: PTH116 - of the kernel's own files
    assert stat.S_IMODE(found.st_mode) == 0o400


def assert_nothing_is_shown(text: str) -> None:
    assert [secret for secret in PASSWORDS if secret in text] == []
