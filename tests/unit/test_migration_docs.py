"""The guides for producers and for those who come from elsewhere name keys, commands, options and API that exist."""

from __future__ import annotations

import dataclasses
import inspect
import re
import shlex
import textwrap
from pathlib import Path

import click
import pytest

import cdc_relay.outbox as sdk
from cdc_relay.cli import cli
from cdc_relay.cli.reference import walk
from cdc_relay.config.reference import reference

DOCS = Path(__file__).parents[2] / "docs"
GUIDES = {
    name: (DOCS / f"{name}.md").read_text()
    for name in ("producers", "migrating-from-debezium", "migrating-from-polling")
}
COMMANDS = dict(walk("cdc-relay", cli))
KEYS = set(re.findall(r"^\| `([^`]+)` \|", reference().partition("## Properties of")[0], re.MULTILINE))
SECTIONS = {key[:end] for key in KEYS for end in range(len(key)) if key[end] in ".["}
each_guide = pytest.mark.parametrize("guide", GUIDES)

# Every option in Debezium's documentation of the Postgres connector and of the outbox event router, as of 3.2.
CONNECTOR_OPTIONS = """
binary.handling.mode column.exclude.list column.include.list column.mask.hash. column.mask.hash.v2. column.mask.with.
column.propagate.source.type column.truncate.to. connector.class converters custom.metric.tags database.dbname
database.hostname database.initial.statements database.password database.port database.query.timeout.ms
database.sslcert database.sslkey database.sslmode database.sslpassword database.sslrootcert database.tcpKeepAlive
database.user datatype.propagate.source.type decimal.handling.mode errors.max.retries
event.processing.failure.handling.mode extended.headers.enabled field.name.adjustment.mode flush.lsn.source
heartbeat.action.query heartbeat.interval.ms hstore.handling.mode include.unknown.datatypes
incremental.snapshot.chunk.size incremental.snapshot.watermarking.strategy interval.handling.mode max.batch.size
max.queue.size max.queue.size.in.bytes message.key.columns message.prefix.exclude.list message.prefix.include.list
money.fraction.digits name notification.enabled.channels plugin.name poll.interval.ms provide.transaction.metadata
publication.autocreate.mode publication.name publish.via.partition.root read.only replica.identity.autoset.values
retriable.restart.connector.wait.ms schema.exclude.list schema.include.list schema.name.adjustment.mode
schema.refresh.mode signal.data.collection signal.enabled.channels skip.messages.without.change skipped.operations
slot.drop.on.stop slot.failover slot.max.retries slot.name slot.retry.delay.ms slot.stream.params snapshot.mode
snapshot. status.update.interval.ms streaming.delay.ms table.exclude.list table.include.list tasks.max
time.precision.mode tombstones.on.delete topic.cache.size topic.delimiter topic.heartbeat.prefix topic.naming.strategy
topic.prefix topic.transaction unavailable.value.placeholder xmin.fetch.interval.ms
"""
ROUTER_OPTIONS = """
route.by.field route.tombstone.on.empty.payload route.topic.regex route.topic.replacement table.expand.json.payload
table.field.event.id table.field.event.key table.field.event.payload table.field.event.schema.version
table.field.event.timestamp table.fields.additional.error.on.missing table.fields.additional.placement
table.json.payload.null.behavior table.op.invalid.behavior tracing.operation.name tracing.span.context.field
tracing.with.context.field.only
"""


# --- keys and commands


@each_guide
def test_every_key_of_the_file_that_is_named_exists(guide: str) -> None:
    tops = "|".join(sorted({re.split(r"[.\[]", key)[0] for key in KEYS}))
    named = set(re.findall(rf"`((?:{tops})(?:\[\])?(?:\.\w+(?:\[\])?)*)`", GUIDES[guide]))
    assert named
    assert sorted(name for name in named if name not in KEYS | SECTIONS) == []


@each_guide
def test_every_command_that_is_named_is_one_with_options_that_it_has(guide: str) -> None:
    lines = commands_of(GUIDES[guide])
    assert lines
    for line in lines:
        words = shlex.split(line)
        path = max((path for path in COMMANDS if words[: len(path.split())] == path.split()), key=len)
        command = COMMANDS[path]
        assert not isinstance(command, click.Group), f"{line}: there is no such command"
        command.make_parser(click.Context(command)).parse_args(words[len(path.split()) :])


def commands_of(text: str) -> list[str]:
    blocks = re.findall(r"^ *(?:\w+=\S+ )*(cdc-relay .+)$", "\n".join(fenced(text, "sh")), re.MULTILINE)
    return blocks + re.findall(r"`(cdc-relay [^`]+)`", text)


def fenced(text: str, language: str) -> list[str]:
    return [
        textwrap.dedent(block)
        for block in re.findall(rf"^ *```{language}\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL)
    ]


# --- rights and retention


@pytest.mark.parametrize("guide", ["migrating-from-debezium", "migrating-from-polling"])
def test_wherever_the_relay_is_started_its_role_was_given_its_rights(guide: str) -> None:
    run_rights = fenced((DOCS / "privileges.md").read_text().partition("## run")[2], "sql")[0]
    grants = re.findall(r"^GRANT .+ cdc_relay.* TO relay;$", run_rights, re.MULTILINE)
    assert len(grants) == 3
    starts = [block for block in fenced(GUIDES[guide], "sh") if "PGUSER=relay cdc-relay run " in block]
    given = [block for block in fenced(GUIDES[guide], "sql") if all(grant in block for grant in grants)]
    assert len(starts) == len(given) >= 1


@pytest.mark.parametrize(
    ("guide", "title"),
    [("migrating-from-debezium", "## 4. Afterwards"), ("migrating-from-polling", "## What to delete")],
)
def test_old_rows_are_left_to_retention(guide: str, title: str) -> None:
    told = GUIDES[guide].partition(title)[2].partition("\n## ")[0]
    assert "retention: 7d" in told and "(retention.md)" in told


# --- Debezium


@pytest.mark.parametrize("option", CONNECTOR_OPTIONS.split() + ROUTER_OPTIONS.split())
def test_every_option_of_debezium_has_an_answer(option: str) -> None:
    rows = re.findall(
        r"^\| (.+?) \| (.+) \|$", GUIDES["migrating-from-debezium"].partition("## Options")[2], re.MULTILINE
    )
    answers = [answer for options, answer in rows if names(options, option)]
    assert len(answers) >= 1


def names(options: str, option: str) -> bool:
    """`column.mask.hash.…` stands for every option that begins so."""
    end = "…" if option.endswith(".") else "[`=]"
    return re.search(rf"`{re.escape(option)}{end}", options) is not None


# --- the SDK


@pytest.mark.parametrize("kind", [sdk.Event, sdk.Outbox])
def test_the_reference_has_every_field_with_its_default(kind: type) -> None:
    shown = dict(re.findall(r"^\| `(\w+)` \| (.+?) \|", section(f"`{kind.__name__}`, by keyword:"), re.MULTILINE))
    fields = {field.name: field for field in dataclasses.fields(kind) if field.init}
    assert list(shown) == list(fields)
    for name, field in fields.items():
        assert shown[name] == default_of(field) or (name, shown[name]) == ("id", "a new UUID of version 7")


def default_of(field: dataclasses.Field[object]) -> str:
    if field.default is not dataclasses.MISSING:
        return f"`{field.default}`"
    return "required" if field.default_factory is dataclasses.MISSING else f"`{field.default_factory()}`"


def section(title: str) -> str:
    return GUIDES["producers"].partition(title)[2].strip().partition("\n\n")[0]


def test_the_reference_has_everything_that_is_exported() -> None:
    reference_part = GUIDES["producers"].partition("## Reference")[2]
    named = set(re.findall(r"^(?:\| )?`(\w+)(?:\([^`]*\))?`(?:,| \|)", reference_part, re.MULTILINE))
    assert set(sdk.__all__) <= named


def test_the_signatures_are_those_of_the_functions() -> None:
    for name, parameters in re.findall(r"^\| `(\w+)\((.*)\)` \|", GUIDES["producers"], re.MULTILINE):
        signature = inspect.signature(getattr(sdk, name))
        stars = ["*" if each.kind is each.KEYWORD_ONLY else "" for each in signature.parameters.values()]
        expected = ", ".join(
            f"{'*, ' if star else ''}{each}" for star, each in zip(stars, signature.parameters, strict=True)
        )
        assert parameters == expected


def test_the_types_that_are_said_of_errors_are_theirs() -> None:
    rows = re.findall(r"^\| `(\w+Error)` \| (?:`(\w+)`)? ?\|", GUIDES["producers"], re.MULTILINE)
    assert {name for name, _ in rows} == {name for name in sdk.__all__ if name.endswith("Error")}
    for name, also in rows:
        bases = [base.__name__ for base in getattr(sdk, name).__mro__]
        assert "OutboxError" in bases and (not also or also in bases)
