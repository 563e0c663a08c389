"""What is wrong in an outbox, its routes and their envelopes is said with file, line, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cdc_relay.config.loader import parse
from cdc_relay.errors import ConfigError

_HEAD = """\
source: {dsn: postgresql://relay@db/orders, slot: s, publication: p}
sink: {kafka: {bootstrap.servers: 'kafka:9092'}}
outboxes:
"""
_TABLE = "  - table: public.outbox\n"
_ROUTE = _TABLE + "    routes:\n      - topic: a\n"  # the next line is number 7


def _problems(outboxes: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse(_HEAD + outboxes, file="relay.yaml", environment={}, folder=Path())
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("outboxes", "problem"),
    [
        ("  - columns: {}\n", "relay.yaml:4: outboxes[0]: table is missing; give it, or message_prefix"),
        (_TABLE + "    message_prefix: b\n", "relay.yaml:5: outboxes[0].message_prefix: table is given too; write two"),
        ("  - tabel: a\n", "relay.yaml:4: outboxes[0].tabel: unknown key; did you mean 'table'?"),
        (
            _TABLE + "    columns:\n      aggregateid: a\n",
            "relay.yaml:6: outboxes[0].columns.aggregateid: unknown key;",
        ),
        (
            _TABLE + "    columns: {keey: a}\n",
            "relay.yaml:5: outboxes[0].columns.keey: unknown key; did you mean 'key'?",
        ),
        (_TABLE + "    routes: []\n", "relay.yaml:5: outboxes[0].routes: at least one route is needed"),
        (_TABLE + "    routes: [{name: a}]\n", "relay.yaml:5: outboxes[0].routes[0].topic: missing; it is required"),
    ],
)
def test_what_is_wrong_with_an_outbox_is_said_once_with_its_line(outboxes: str, problem: str) -> None:
    (found,) = _problems(outboxes)
    assert found.startswith(problem)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("orderin: strict", "7: outboxes[0].routes[0].orderin: unknown key; did you mean 'ordering'?"),
        ("retry: {bas: 1s}", "7: outboxes[0].routes[0].retry.bas: unknown key; did you mean 'base'?"),
        ("on_dead: hold", "7: outboxes[0].routes[0].on_dead: hold needs ordering: strict"),
        (
            "retry: {base: 1h}",
            "7: outboxes[0].routes[0].retry: base is longer than max, which is 30m here; set max too",
        ),
        ("when: {kind: {like: b}}", "7: outboxes[0].routes[0].when.kind: expected one key, not or exact"),
        ("when: {kind: yes}", "7: outboxes[0].routes[0].when.kind: expected a text; put it into quotes"),
        ("when: {kind: }", "7: outboxes[0].routes[0].when.kind: has no value"),
        ("drop: true", "6: outboxes[0].routes[0].topic: has no use beside drop: true"),
        ("drop: maybe", "7: outboxes[0].routes[0].drop: neither yes nor no; write true or false"),
        ("drop: [true]", "7: outboxes[0].routes[0].drop: neither yes nor no; write true or false"),
        ("partition: first", "7: outboxes[0].routes[0].partition: no row can make this a partition; write a whole"),
        ("partition: 'p{n}'", "7: outboxes[0].routes[0].partition: no row can make this a partition; write a whole"),
        ('headers: {"a\\0b": x}', "7: outboxes[0].routes[0].headers.'a\\x00b': a header's name cannot have NUL"),
        ("when: {payload.urgent: true}", "7: outboxes[0].routes[0].when.payload.urgent: expected a text; put it into"),
        ("timestamp: soon", "7: outboxes[0].routes[0].timestamp: no row can make this a timestamp; write millisec"),
        ("key: '{payload.\"a\"}'", "7: outboxes[0].routes[0].key: expected a column, or a place in a JSON column"),
    ],
)
def test_what_is_wrong_with_a_route_is_said_once_with_its_line(line: str, problem: str) -> None:
    (found,) = _problems(f"{_ROUTE}        {line}\n")
    assert found.startswith(f"relay.yaml:{problem}")


@pytest.mark.parametrize(
    ("envelope", "problem"),
    [
        ("natve", ": unknown envelope; did you mean 'native'?"),
        ("{natve: {}}", ": unknown envelope; did you mean 'native'?"),
        ("avro", ": unknown envelope; known here: debezium, cloudevents, native, raw"),
        ("[native]", ": expected debezium, cloudevents, native or raw, or one of them with options"),
        ("{native: {}, raw: {}}", ": expected debezium, cloudevents, native or raw, or one of them with options"),
        ("{debezium: {expandjson: true}}", ".debezium.expandjson: unknown key; did you mean 'expand_json'?"),
        ("{debezium: {expand_json: maybe}}", ".debezium.expand_json: neither yes nor no; write true or false"),
        ("{debezium: {fields: {column: a}}}", ".debezium.fields: expected a list, found a mapping"),
        ("{debezium: {fields: [{colum: a}]}}", ".debezium.fields[0].colum: unknown key; did you mean 'column'?"),
        ("{debezium: {fields: [{alias: a}]}}", ".debezium.fields[0].column: missing; it is required"),
        (
            "{debezium: {fields: [{column: a, placement: body}]}}",
            ".debezium.fields[0].placement: expected header or envelope",
        ),
        ("{cloudevents: {mod: binary}}", ".cloudevents.mod: unknown key; did you mean 'mode'?"),
        ("{cloudevents: {mode: text}}", ".cloudevents.mode: expected binary or structured"),
        ("{cloudevents: text}", ".cloudevents.mode: expected binary or structured"),
        ("{native: {mode: a}}", ".native.mode: unknown key; there are no options here: write envelope: native"),
        ("{raw: bytes}", ".raw: there are no options here: write envelope: raw"),
    ],
)
def test_what_is_wrong_with_an_envelope_is_said_once_with_its_line(envelope: str, problem: str) -> None:
    (found,) = _problems(f"{_ROUTE}        envelope: {envelope}\n")
    assert found.startswith(f"relay.yaml:7: outboxes[0].routes[0].envelope{problem}")


def test_every_problem_of_an_envelope_is_said_at_its_own_line() -> None:
    options = "          debezium:\n            expandjson: true\n            fields: 5\n"
    found = _problems(f"{_ROUTE}        envelope:\n{options}")
    assert [line.split(": ")[:2] for line in found] == [
        ["relay.yaml:9", "outboxes[0].routes[0].envelope.debezium.expandjson"],
        ["relay.yaml:10", "outboxes[0].routes[0].envelope.debezium.fields"],
    ]


_KEYS = st.sampled_from(["debezium", "cloudevents", "native", "raw", "fields", "column", "mode", "expand_json"])
_TREES = st.recursive(
    st.booleans() | st.integers() | st.text() | _KEYS,
    lambda below: st.lists(below, max_size=2) | st.dictionaries(_KEYS | st.text(), below, max_size=2),
    max_leaves=8,
)


@given(_TREES)
def test_any_envelope_is_a_configuration_or_a_configuration_error(envelope: object) -> None:
    outboxes = [{"table": "outbox", "routes": [{"topic": "a", "envelope": envelope}]}]
    text = _HEAD.removesuffix("outboxes:\n") + yaml.safe_dump({"outboxes": outboxes})
    try:
        parse(text, file="relay.yaml", environment={}, folder=Path())
    except ConfigError as exc:
        assert str(exc).startswith("relay.yaml:")
