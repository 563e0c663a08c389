"""Names of the configuration that are SQL themselves: every command works on objects of exactly these names, or refuses
them with file and line; nothing that they say is ever executed."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.fixtures.fix_kafka import Kafka
from tests.fixtures.fix_postgres import Database
from tests.fixtures.fix_relay import MakeRelay, Pipeline
from tests.fixtures.planted import PAYLOAD
from tests.fixtures.process import wait_until
from tests.fixtures.relay_process import relay_config
from tests.integration.hostile_names_rig import HOSTILE_NAMES, HostileGround, escaped, run_command, spell_table

pytestmark = pytest.mark.kafka

ALL = sorted(HOSTILE_NAMES)


def made_by_setup(ground: HostileGround) -> None:
    """The tables too, by months."""
    ground.run("setup", "--outbox-table", "--partitioned")


def made_by_psql(ground: HostileGround) -> None:
    """The tables too, by the printed script."""
    ground.psql(ground.run("setup", "--outbox-table", "--print"))


def made_by_hand(ground: HostileGround) -> None:
    ground.make_tables()
    ground.psql(ground.run("setup", "--print"))
    ground.psql(ground.run("setup", "--print"))  # it may be run again


WAYS = [
    pytest.param(made_by_setup, HOSTILE_NAMES[0], id="setup"),
    pytest.param(made_by_psql, HOSTILE_NAMES[3], id="psql"),
    pytest.param(made_by_hand, HOSTILE_NAMES[5], id="by hand"),
]


@pytest.mark.parametrize(("make", "publication"), WAYS)
def test_every_command_takes_hostile_names_as_names(
    make: Callable[[HostileGround], None],
    publication: str,
    database: Database,
    kafka: Kafka,
    topic: str,
    make_relay: MakeRelay,
    tmp_path: Path,
) -> None:
    ground = HostileGround(database, kafka, tmp_path, publication=publication, topic=topic)
    make(ground)
    ground.assert_nothing_was_executed()
    assert ground.publications() == [publication]
    assert "already there" in ground.run("setup")

    found = json.loads(ground.run("check", "--json"))["findings"]
    assert [each for each in found if each["level"] == "fail"] == []
    relay = make_relay(ground.relay_config()).wait_ready()
    ground.insert()
    wait_until(lambda: ground.arrived() == ALL, timeout=60, what="a row of each table arrives")
    ground.run("status")
    ground.run("route", "--last", "1", "--outbox", spell_table(HOSTILE_NAMES[0]))
    ground.run("dlq list")
    assert relay.stop() == 0

    ground.run("replay", "--yes")
    assert ground.arrived() == sorted(ALL * 2)
    ground.run("retention", "--dry-run")
    ground.run("retention")
    ground.run("teardown", "--lot", "--yes")
    assert (ground.publications(), database.slot_names()) == ([], [])
    ground.assert_nothing_was_executed()


def test_hostile_message_prefixes_are_prefixes(pipeline: Pipeline) -> None:
    pipeline.database.execute("CREATE TABLE public.canary AS SELECT 'sings' AS it")
    outboxes = [{"message_prefix": escaped(each), "routes": [{"topic": pipeline.topic}]} for each in ALL]
    relay = pipeline.start_relay(outboxes=outboxes)
    for prefix in ALL:
        content = {"id": str(uuid.uuid4()), "aggregateid": "k", "type": "T", "payload": {"of": prefix, "x": PAYLOAD}}
        pipeline.database.execute("SELECT pg_logical_emit_message(true, %s, %s)", [prefix, json.dumps(content)])
    records = pipeline.wait_for_records(len(ALL))
    assert relay.stop() == 0
    assert sorted(json.loads(each.value() or b"")["of"] for each in records) == ALL
    assert pipeline.database.execute("SELECT it FROM public.canary") == [("sings",)]


COMMANDS = ["setup --print", "setup", "check", "run", "status", "replay", "retention", "teardown", "route --last 1"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_slot_of_a_hostile_name_is_refused_by_every_command_with_its_line(command: str, tmp_path: Path) -> None:
    """Postgres allows no such name, so there is nothing that it could be quoted for."""
    config = relay_config("host=127.0.0.1 port=1 dbname=x", HOSTILE_NAMES[0], "p", "public.outbox", "127.0.0.1:1")
    file = tmp_path / "relay.yaml"
    file.write_text(yaml.safe_dump(config, sort_keys=False))
    name, *arguments = command.split()
    done = run_command(file, name, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{file}:3: source.slot: Postgres allows 1 to 63 of a-z, 0-9 and _" in done.stderr
