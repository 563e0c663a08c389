"""Exactly one sink is chosen, in its long or its short form; everything else is told with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdc_relay.config import RelayConfig, hide, json_schema
from cdc_relay.config.loader import parse
from cdc_relay.errors import ConfigError

_FILE = """\
source: {dsn: 'postgresql://relay@db/orders', slot: s, publication: p}
outboxes: [{table: outbox}]
parking: {dead_letter_topic: dead}
%s
"""


def _parse(sink: str, **environment: str) -> RelayConfig:
    return parse(_FILE % sink, file="relay.yaml", environment=environment, folder=Path())


def _problems(sink: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        _parse(sink)
    return str(caught.value).splitlines()


@pytest.mark.parametrize("name", ["log", "none"])
@pytest.mark.parametrize("form", ["sink: %s", "sink: {%s: {}}", "sink:\n  %s: {}", "sink: '%s'"])
def test_a_sink_without_options_has_a_short_form(name: str, form: str) -> None:
    sink = _parse(form % name).sink
    assert [each for each in ("kafka", "log", "none") if getattr(sink, each) is not None] == [name]


def test_the_short_form_may_come_from_the_environment() -> None:
    assert _parse("sink: ${SINK}", SINK="log").sink.log == {}


@pytest.mark.parametrize("sink", ["sink: {}", "sink: kafka", "sink: stdout", "sink: 5"])
def test_no_sink_is_told_with_what_there_is(sink: str) -> None:
    [problem] = _problems(sink)
    assert problem.startswith("relay.yaml:4: sink: one sink is needed: kafka: {bootstrap.servers: host:port}")


def test_two_sinks_are_told_at_the_second() -> None:
    assert _problems("sink:\n  kafka: {bootstrap.servers: k}\n  log: {}\n  none: {}") == [
        "relay.yaml:6: sink.log: sink.kafka is given too; choose one of them",
        "relay.yaml:7: sink.none: sink.kafka is given too; choose one of them",
    ]


@pytest.mark.parametrize(
    ("misspelt", "told"), [("lgo", "did you mean 'log'?"), ("nats", "known here: kafka, log, none")]
)
def test_a_misspelt_sink_is_told_once(misspelt: str, told: str) -> None:
    assert _problems(f"sink: {{{misspelt}: {{}}}}") == [f"relay.yaml:4: sink.{misspelt}: unknown key; {told}"]


@pytest.mark.parametrize(
    ("sink", "problem"),
    [
        ("sink: {log: {to: file}}", "sink.log.to: unknown key; there are no options here: write {}"),
        ("sink: {none: text}", "sink.none: expected {}, found text"),
        ("sink: {log: }", "sink.log: has no value; give it one, or remove the key"),
        ("sink: [log]", "sink: expected a mapping, found a list"),
    ],
)
def test_what_a_sink_without_options_is_given_is_told(sink: str, problem: str) -> None:
    assert _problems(sink) == [f"relay.yaml:4: {problem}"]


@pytest.mark.parametrize("name", ["log", "none"])
def test_the_chosen_sink_is_shown_and_no_other(name: str) -> None:
    assert hide(_parse(f"sink: {name}"))["sink"] == {name: {}}


def test_the_schema_knows_the_short_forms_and_that_one_is_needed() -> None:
    schema = json_schema()["$defs"]["SinkConfig"]
    assert (schema["type"], schema["pattern"]) == (["object", "string"], r"^(log|none|.*\$\{.*)$")
    assert [choice.get("required", []) for choice in schema["oneOf"]] == [[], ["kafka"], ["log"], ["none"]]
