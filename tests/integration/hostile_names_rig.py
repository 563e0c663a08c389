"""Outboxes whose names are SQL, all in one database with a table that none of that SQL must reach."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import yaml
from psycopg import sql

from tests.fixtures.consume import read_topic
from tests.fixtures.database import Database
from tests.fixtures.kafka_broker import Kafka
from tests.fixtures.planted import PASSWORD, PAYLOAD
from tests.fixtures.relay_process import Config, relay_config

__all__ = ["HOSTILE_NAMES", "HostileGround", "escaped", "quoted", "run_command", "spell_table"]

# Each ends whatever it stands in, as some quoting would let it, and goes on with a statement of its own.
HOSTILE_NAMES = [
    "o'; DROP TABLE public.canary; --",
    'o"; DROP TABLE public.canary; --',
    "$$; DROP TABLE public.canary; $$",
    "$setup$; DROP TABLE public.canary; DO $setup$",
    'x"."y"); DROP TABLE public.canary; --',
    "new\nline; DROP TABLE public.canary;\n\\! touch pwned\n",
    "E'\\'; DROP TABLE public.canary; --'",
    "/* */ üñí ☃ 漢 %s {0} ${x} :'slot' :slot \\ $1",
]
ROLES = ("id", "key", "type", "payload", "timestamp")
TYPES = {"id": "uuid PRIMARY KEY", "key": "text", "type": "text", "payload": "jsonb", "timestamp": "timestamptz"}
TABLES = """
SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
   AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'cdc_relay') ORDER BY 1, 2"""


def quoted(name: str) -> str:
    return sql.Identifier(name).as_string(None)


class HostileGround:
    """A table for each name, in a schema of that name, with columns of that name; and the publication of one."""

    def __init__(self, database: Database, kafka: Kafka, directory: Path, *, publication: str, topic: str) -> None:
        self.database = database
        self.kafka = kafka
        self.directory = directory
        self.publication = publication
        self.topic = topic
        self.slot = f"{database.name}_slot"
        self.file = directory / "relay.yaml"
        database.execute("CREATE TABLE public.canary AS SELECT 'sings' AS it")
        for name in HOSTILE_NAMES:
            database.execute(f"CREATE SCHEMA {quoted(name)}")
        kafka.create_topic(topic)
        self.file.write_text(yaml.safe_dump(self.config(), sort_keys=False))

    def relay_config(self) -> Config:
        """With the least role, which may not clean up tables. After the schema is made."""
        config = self.config(self.database.create_relay_role())
        del config["retention"]
        return config

    def config(self, role: str = "postgres") -> Config:
        dsn = self.database.dsn(role, password=PASSWORD)
        config = relay_config(dsn, self.slot, escaped(quoted(self.publication)), "", self.kafka.bootstrap)
        return config | {"outboxes": [self._outbox(name) for name in HOSTILE_NAMES], "retention": {"outbox": "30d"}}

    def _outbox(self, name: str) -> Config:
        columns = {role: escaped(quoted(column(role, name))) for role in ROLES}
        return {"table": spell_table(name), "columns": columns, "routes": [{"topic": self.topic}]}

    def make_tables(self) -> None:
        for name in HOSTILE_NAMES:
            columns = ", ".join(f"{quoted(column(role, name))} {TYPES[role]}" for role in ROLES)
            self.database.execute(f"CREATE TABLE {quoted(name)}.{quoted(name)} ({columns}, aggregatetype text)")

    def insert(self) -> None:
        """A row into each."""
        for name in HOSTILE_NAMES:
            columns = ", ".join(quoted(column(role, name)) for role in ROLES)
            payload = sql.Literal(json.dumps({"of": name, "x": PAYLOAD})).as_string(None)
            values = f"gen_random_uuid(), 'k', 'T', {payload}, now()"
            into = f"{quoted(name)}.{quoted(name)} ({columns}, aggregatetype)"
            self.database.execute(f"INSERT INTO {into} VALUES ({values}, 'order')")

    def arrived(self) -> list[str]:
        """Whose rows are on the topic."""
        return sorted(json.loads(each.value() or b"")["of"] for each in read_topic(self.kafka.bootstrap, self.topic))

    def run(self, command: str, *arguments: str, exit_code: int = 0) -> str:
        done = run_command(self.file, command, *arguments)
        assert done.returncode == exit_code, done.stdout + done.stderr
        return done.stdout

    def psql(self, script: str) -> None:
        file = self.directory / "setup.sql"
        file.write_text(script, encoding="utf-8")
        self.database.server.psql("-f", str(file), dbname=self.database.name)

    def publications(self) -> list[str]:
        return [name for (name,) in self.database.execute("SELECT pubname FROM pg_publication")]

    def assert_nothing_was_executed(self) -> None:
        """No table is missing, none is there that nobody asked for, and no shell was called."""
        assert self.database.execute("SELECT it FROM public.canary") == [("sings",)]
        assert self.database.execute(TABLES) == sorted(
            [("public", "canary"), *((each, each) for each in HOSTILE_NAMES)]
        )
        assert not any((folder / "pwned").exists() for folder in (self.directory, Path.cwd()))


def column(role: str, name: str) -> str:
    return f"{role[:2]}{name}"


def spell_table(name: str) -> str:
    return escaped(f"{quoted(name)}.{quoted(name)}")


def escaped(text: str) -> str:
    """As the file spells a text that has what it would fill in."""
    return text.replace("${", "$${")


def run_command(file: Path, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "cdc_relay", *command.split(), "-c", str(file), *arguments]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False, cwd=file.parent)
    assert "Traceback" not in done.stderr, done.stderr
    return done
