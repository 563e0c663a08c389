"""`topics:` and `topic_defaults:` of the file: what they mean together, and what cannot be meant."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cdc_relay.admin.topics_wanted import wanted_topics_of
from cdc_relay.config import RelayConfig, TopicSettings, hide, load
from cdc_relay.config.loader import parse
from cdc_relay.errors import ConfigError

_HEAD = """\
source: {dsn: postgresql://relay@db/orders, slot: s, publication: p}
sink: {kafka: {bootstrap.servers: 'k:1'}}
outboxes: [{table: outbox}]
"""


def _parse(text: str) -> RelayConfig:
    return parse(_HEAD + text, file="relay.yaml", environment={}, folder=Path())


def _problem(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        _parse(text)
    [line] = str(caught.value).splitlines()
    return line


def _settings(text: str, topic: str = "a") -> TopicSettings:
    return wanted_topics_of(_parse(text)).managed[topic]


def test_every_key_becomes_kafka_s_own_property() -> None:
    assert _settings(
        "topics:\n  a: {partitions: 12, replication_factor: 3, min_insync_replicas: 2, retention: 7d, compression: lz4,"
        " properties: {max.message.bytes: 2097152, preallocate: yes}}\n"
    ) == TopicSettings(
        partitions=12,
        replication_factor=3,
        properties={
            "retention.ms": "604800000",
            "compression.type": "lz4",
            "min.insync.replicas": "2",
            "max.message.bytes": "2097152",
            "preallocate": "true",
        },
    )


def test_what_is_left_out_is_not_wanted() -> None:
    assert _settings("topics: {a: {}}\n") == TopicSettings(None, None, {})


def test_a_topic_has_what_the_defaults_say_and_its_own_values_win_one_by_one() -> None:
    text = """\
topic_defaults: {partitions: 12, replication_factor: 3, compression: lz4, properties: {segment.ms: 1, flush.ms: 2}}
topics:
  a: {partitions: 6, properties: {segment.ms: 3}}
"""
    wanted = {"compression.type": "lz4", "segment.ms": "3", "flush.ms": "2"}
    assert _settings(text) == TopicSettings(6, 3, wanted)


def test_a_topic_s_property_wins_over_a_default_under_its_short_name() -> None:
    text = "topic_defaults: {compression: lz4}\ntopics: {a: {properties: {compression.type: zstd}}}\n"
    assert _settings(text).properties == {"compression.type": "zstd"}


@pytest.mark.parametrize(
    ("retention", "milliseconds"),
    [("7d", "604800000"), ("90d", "7776000000"), ("1.5h", "5400000"), ("1s", "1000"), ("forever", "-1")],
)
def test_retention_is_a_duration_or_forever(retention: str, milliseconds: str) -> None:
    assert _settings(f"topics: {{a: {{retention: {retention}}}}}\n").properties == {"retention.ms": milliseconds}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("topics:\n  a b: {}\n", "relay.yaml:5: topics.a b: Kafka allows 1 to 249 letters"),
        ("topics:\n  ..: {}\n", "relay.yaml:5: topics...: Kafka allows 1 to 249 letters"),
        ("topics: [a]\n", "relay.yaml:4: topics: expected a mapping, found a list"),
        ("topics:\n  a: 12\n", "relay.yaml:5: topics.a: expected a mapping, found text"),
        ("topics:\n  a:\n", "relay.yaml:5: topics.a: has no value"),
        ("topics:\n  a: {}\n  a: {}\n", "relay.yaml:6: topics.a: given twice, first on line 5"),
        (
            "topics:\n  a:\n    partitons: 3\n",
            "relay.yaml:6: topics.a.partitons: unknown key; did you mean 'partitions'?",
        ),
        ("topic_default: {}\n", "relay.yaml:4: topic_default: unknown key; did you mean 'topic_defaults'?"),
        (
            "topic_defaults: {retentin: 7d}\n",
            "relay.yaml:4: topic_defaults.retentin: unknown key; did you mean 'retention'?",
        ),
        ("topics:\n  a: {partitions: many}\n", "relay.yaml:5: topics.a.partitions: expected a whole number without"),
        ("topics:\n  a: {partitions: 0}\n", "relay.yaml:5: topics.a.partitions: must be between 1 and 100000"),
        ("topics:\n  a: {replication_factor: x}\n", "relay.yaml:5: topics.a.replication_factor: expected a whole"),
        ("topics:\n  a: {retention: 7}\n", "relay.yaml:5: topics.a.retention: expected a duration with its unit"),
        ("topics:\n  a: {retention: 10ms}\n", "relay.yaml:5: topics.a.retention: must be between 1s and forever"),
        ("topics:\n  a: {retention: 40000d}\n", "relay.yaml:5: topics.a.retention: longer than 36500d; write forever"),
        (
            "topics:\n  a: {compression: none}\n",
            "relay.yaml:5: topics.a.compression: expected producer, uncompressed, gzip",
        ),
        ("topics:\n  a: {properties: [x]}\n", "relay.yaml:5: topics.a.properties: expected a mapping of Kafka's"),
        ("topics:\n  a: {properties: {x: {y: 1}}}\n", "relay.yaml:5: topics.a.properties.x: expected one value"),
        (
            "topics:\n  a:\n    properties:\n      replication.factor: 3\n",
            "relay.yaml:7: topics.a.properties.replication.factor: not a property of a topic; write replication_",
        ),
        (
            "topics:\n  a:\n    retention: 7d\n    properties:\n      retention.ms: 1000\n",
            "relay.yaml:8: topics.a.properties.retention.ms: another name of retention; remove one of the two",
        ),
        (
            "topics:\n  a: {replication_factor: 2, min_insync_replicas: 3}\n",
            "relay.yaml:5: topics.a: min_insync_replicas 3 is more than replication_factor 2",
        ),
        (
            "topic_defaults: {replication_factor: 3}\ntopics:\n  a: {properties: {min.insync.replicas: 4}}\n",
            "relay.yaml:6: topics.a: min_insync_replicas 4 is more than replication_factor 3",
        ),
        (
            "topic_defaults: {replication_factor: 1, min_insync_replicas: 2}\ntopics: {a: {}, b: {}}\n",
            "relay.yaml:4: topic_defaults: min_insync_replicas 2 is more than replication_factor 1",
        ),
        (
            "topic_defaults: {min_insync_replicas: 2}\ntopics:\n  a: {replication_factor: 3}\n  b: {}\n",
            "relay.yaml:7: topics.b: min_insync_replicas 2 needs replication_factor",
        ),
    ],
)
def test_what_is_wrong_is_said_once_with_its_line(text: str, problem: str) -> None:
    assert _problem(text).startswith(problem)


_KEYS = st.sampled_from(["a", "partitions", "min_insync_replicas", "retention", "compression", "properties", "x.ms"])
_TREES = st.recursive(
    st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["3", "7d", "lz4"]),
    lambda below: st.lists(below, max_size=2) | st.dictionaries(_KEYS | st.text(), below, max_size=3),
    max_leaves=8,
)


@given(_TREES, _TREES)
def test_any_yaml_is_a_configuration_or_a_configuration_error(topics: object, defaults: object) -> None:
    text = yaml.safe_dump({"topics": topics, "topic_defaults": defaults})
    try:
        wanted_topics_of(_parse(text))
    except ConfigError as exc:
        assert str(exc).startswith("relay.yaml:")


def test_what_config_show_prints_reads_back_as_the_same() -> None:
    config = _parse(
        "topic_defaults: {partitions: 3}\ntopics: {a: {retention: 7d}, b: {retention: forever, properties: {c: d}}}\n"
    )
    shown = hide(config)
    assert shown["topics"] == {
        "a": {"retention": "7d", "properties": {}},
        "b": {"retention": "forever", "properties": {"c": "d"}},
    }
    again = _parse(yaml.safe_dump({key: shown[key] for key in ("topic_defaults", "topics")}))
    assert (again.topics, again.topic_defaults) == (config.topics, config.topic_defaults)


def test_topics_that_only_routes_or_the_lot_name_are_known_as_not_managed() -> None:
    text = _HEAD.replace(
        "{table: outbox}",
        "{table: outbox, routes: [{when: {k: x}, topic: a}, {when: {k: y}, topic: b}, {topic: 'c.{k}'}]}",
    )
    text += "parking: {dead_letter_topic: dead}\ntopics: {a: {}}\n"
    wanted = wanted_topics_of(parse(text, file="relay.yaml", environment={}, folder=Path()))
    assert list(wanted.managed) == ["a"]
    assert wanted.unmanaged == {"b": "a route", "dead": "parking.dead_letter_topic"}


def test_the_multi_tenant_example_has_the_topology_it_promises() -> None:
    example = load(Path(__file__).parents[2] / "config" / "multi-tenant.yaml")
    wanted = wanted_topics_of(example)
    days = {name: int(it.properties["retention.ms"]) / 86_400_000 for name, it in wanted.managed.items()}
    assert days == {"core.commands.v1": 7, "core.events.v1": 30, "sys.deadletter.v1": 30, "sys.audit.v1": 90}
    for settings in wanted.managed.values():
        assert (settings.partitions, settings.replication_factor) == (12, 3)
        assert settings.properties["min.insync.replicas"] == "2"
        assert settings.properties["compression.type"] == "lz4"
    assert wanted.unmanaged == {}
    assert example.outboxes[0].columns.key == "tenant_id"
