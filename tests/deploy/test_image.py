"""The image, built step by step outside of a container engine and run as it would be: no root, nothing to write to.
Then docker-compose.yml in its order: roles, setup, grants, topics, relay, shop."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from cdc_relay import __version__
from tests.deploy.files import ROOT, instruction, manifest
from tests.deploy.image import Image, find_python
from tests.deploy.stack import DATABASE, Stack, make_broker, make_server
from tests.deploy.tools import absent, require
from tests.fixtures.consume import wait_for_records
from tests.fixtures.kafka_jars import find_jars
from tests.fixtures.postgres_install import Install
from tests.fixtures.process import Process, end, tail
from tests.fixtures.scratch import remove_scratch, scratch_dir

ONE_SHOT = ("roles", "setup", "grants", "topics")


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    require("gcc", "gcc")
    found = find_python(int(instruction("USER").partition(":")[0]))
    if isinstance(found, str):
        absent(found)
    directory = scratch_dir("image")
    made = Image(directory, found)
    made.build()
    yield made
    remove_scratch(directory)


def test_the_entry_point_is_the_command_of_this_version_with_its_compiled_part(image: Image) -> None:
    answer = image.run(["--version"])
    assert (answer.returncode, answer.stdout) == (0, f"cdc-relay, version {__version__} (compiled)\n"), answer.stderr


def test_help_is_printed_where_nothing_can_be_written(image: Image) -> None:
    before = sorted(image.root.rglob("*"))
    answer = image.run(["run", "--help"])
    assert "Usage: cdc-relay run" in answer.stdout, answer.stderr
    assert sorted(image.root.rglob("*")) == before


def test_without_a_file_the_place_where_it_is_expected_is_named(image: Image) -> None:
    answer = image.run(["run"])
    assert answer.returncode == 2
    assert f"{image.root}/etc/cdc-relay/relay.yaml: cannot read" in answer.stderr


def test_there_is_nothing_to_build_or_install_with(image: Image) -> None:
    path = os.pathsep.join(image.environment()["PATH"].split(os.pathsep)[:2])  # the rest is this machine's
    assert shutil.which("python", path=path)
    assert [name for name in ("pip", "pip3", "cython", "uv", "gcc") if shutil.which(name, path=path)] == []


def test_a_compiler_is_in_the_stage_that_builds_and_in_no_other(image: Image) -> None:
    assert image.packages("build") == {"gcc", "libc6-dev"}
    assert image.packages("1") == set()


def test_only_the_virtual_environment_is_taken_from_the_stage_that_builds(image: Image) -> None:
    assert [str(path.relative_to(image.root)) for path in image.root.glob("*/*")] == ["opt/cdc-relay"]


@pytest.fixture(scope="module")
def stack(image: Image, postgres_install: Install) -> Iterator[Stack]:
    """With its one-shot services done."""
    jars = find_jars()
    if isinstance(jars, str):
        absent(jars)
    with ExitStack() as undo:
        directory = scratch_dir("compose")
        undo.callback(remove_scratch, directory)
        server = make_server(postgres_install)
        undo.callback(server.destroy)
        broker = make_broker(jars)
        undo.callback(broker.destroy)
        made = Stack(image, server, broker, directory)
        for name in ONE_SHOT:
            made.run(name)
        yield made


@pytest.fixture(scope="module")
def relay(stack: Stack) -> Iterator[Process]:
    process = stack.start("relay")
    stack.wait_ready(process)
    yield process
    if process.poll() is None:
        process.kill()


@pytest.mark.real_kafka
def test_the_compose_file_delivers_the_orders_of_its_shop(stack: Stack, relay: Process) -> None:
    shop = stack.start("shop")
    try:
        records = wait_for_records(stack.broker.bootstrap, "outbox.event.order", 2)
        assert b'"total": "99.90"' in (records[0].value() or b"")
        assert shop.poll() is None, tail(stack.log("shop"))
    finally:
        end(shop, with_signal=signal.SIGKILL, timeout=30)


@pytest.mark.real_kafka
@pytest.mark.parametrize("name", ONE_SHOT)
def test_a_one_shot_service_can_be_repeated_beside_the_relay(stack: Stack, relay: Process, name: str) -> None:
    """`docker compose up` does so each time."""
    stack.run(name)
    assert stack.get("/readyz") == 200


@pytest.mark.real_kafka
def test_status_is_told_inside_the_container_as_the_relays_role(stack: Stack, relay: Process) -> None:
    said = json.loads(stack.execute("relay", "status", "--json"))
    assert said["relay"]["role"] == "reader"


@pytest.mark.real_kafka
def test_the_relays_role_may_not_read_the_outbox(stack: Stack) -> None:
    password = (ROOT / "deploy/compose/secrets/relay-password").read_text()
    with (
        psycopg.connect(stack.server.dsn(DATABASE, "relay", password=password)) as conn,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        conn.execute("SELECT FROM public.outbox")


@pytest.mark.real_kafka
def test_the_relays_role_may_remove_resolved_rows_of_the_lot(stack: Stack) -> None:
    [(may,)] = stack.server.execute(
        "SELECT has_table_privilege('relay', 'cdc_relay.parked_records', 'DELETE')", dbname=DATABASE
    )
    assert may


@pytest.mark.real_kafka
def test_every_probe_of_the_manifests_is_answered_by_the_relay(stack: Stack, relay: Process) -> None:
    [container] = manifest("Deployment")["spec"]["template"]["spec"]["containers"]
    paths = [container[probe]["httpGet"]["path"] for probe in ("livenessProbe", "readinessProbe")]
    assert [stack.get(path) for path in paths] == [200, 200]


@pytest.mark.real_kafka
@pytest.mark.parametrize("name", ["postgres", "relay"])
def test_a_health_check_passes_while_its_service_is_up(stack: Stack, relay: Process, name: str) -> None:
    assert stack.check_health(name) == 0


@pytest.mark.real_kafka
def test_the_relay_needs_less_memory_than_it_requests(relay: Process) -> None:
    [container] = manifest("Deployment")["spec"]["template"]["spec"]["containers"]
    requested = re.fullmatch(r"(\d+)Mi", container["resources"]["requests"]["memory"])
    peak = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{relay.pid}/status").read_text())
    assert peak and requested
    assert int(peak[1]) < int(requested[1]) * 1024


@pytest.mark.real_kafka
def test_the_stop_signal_of_the_image_drains_the_relay(stack: Stack, relay: Process, image: Image) -> None:
    number = signal.Signals[image.settings["STOPSIGNAL"]]
    assert end(relay, with_signal=number, timeout=60) == 0, tail(stack.log("relay"))


# --- the last ones: they take relay and server away


@pytest.mark.real_kafka
def test_the_health_check_of_the_relay_fails_when_it_is_gone(stack: Stack, relay: Process) -> None:
    end(relay, with_signal=signal.SIGTERM, timeout=60)
    assert stack.check_health("relay") != 0


@pytest.mark.real_kafka
def test_the_health_check_of_postgres_fails_when_it_is_gone(stack: Stack) -> None:
    stack.server.stop()
    assert stack.check_health("postgres") != 0
