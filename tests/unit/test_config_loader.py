"""A file becomes a configuration, or one error that names every problem with its line."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cdc_relay.config import RelayConfig, load
from cdc_relay.config.loader import parse
from cdc_relay.errors import ConfigError

_GOOD = """\
source:
  dsn: postgresql://relay@db/orders
  slot: orders_outbox
  publication: orders_outbox
sink:
  kafka:
    bootstrap.servers: kafka:9092
outboxes:
  - table: public.outbox
"""
_NO_TEXT = r"relay.yaml:10: outboxes[0].routes[0].headers.'\ud800': is not valid UTF-8 text"
_EXAMPLES = sorted((Path(__file__).parents[2] / "config").glob("*.yaml"))


def _parse(text: str, *, folder: Path = Path(), **environment: str) -> RelayConfig:
    return parse(text, file="relay.yaml", environment=environment, folder=folder)


def _problems(text: str, *, folder: Path = Path(), **environment: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        _parse(text, folder=folder, **environment)
    assert caught.value.exit_code == 2
    assert caught.value.__cause__ is None
    return str(caught.value).splitlines()


def test_a_file_is_loaded(tmp_path: Path) -> None:
    file = tmp_path / "relay.yaml"
    file.write_text(
        "\ufeff" + _GOOD + "delivery: {window: {records: 7, bytes: 1MiB}, drain: 500ms}\nhttp: {listen: off}\n"
    )
    config = load(file)
    assert (config.delivery.window.records, config.delivery.window.bytes) == (7, 1 << 20)
    assert config.delivery.drain_seconds == 0.5
    assert config.http.address is None


def test_values_are_the_text_that_was_written() -> None:
    config = _parse(
        _GOOD.replace("kafka:9092", "kafka:9092\n    sasl.password: 0123\n    a: yes\n    b: 1e3\n    c: 5")
    )
    assert config.sink.kafka == {
        "bootstrap.servers": "kafka:9092",
        "sasl.password": "0123",
        "a": "true",
        "b": "1e3",
        "c": "5",
    }


def test_an_unknown_key_is_named_with_its_line_and_the_nearest_one() -> None:
    assert _problems(_GOOD + "    colums: {key: k}\n") == [
        "relay.yaml:10: outboxes[0].colums: unknown key; did you mean 'columns'?"
    ]


def test_an_attribute_name_is_no_key() -> None:
    assert _problems(_GOOD + "delivery: {drain_seconds: 3}\n") == [
        "relay.yaml:10: delivery.drain_seconds: unknown key; known here: window, retry, ordering, on_dead,"
        " partial_outage_after, drain, release_line_after"
    ]


def test_a_misspelt_required_key_is_one_problem_not_two() -> None:
    assert _problems(_GOOD.replace("slot:", "slott:")) == [
        "relay.yaml:3: source.slott: unknown key; did you mean 'slot'?"
    ]


def test_every_problem_is_reported_in_one_go_sorted_by_line() -> None:
    text = """\
source:
  dsn: ${NOWHERE}
  slot: Not-A-Slot
  wal_sender_timeout: 10
sink:
  kafka:
    acks: 1
    ssl: {key: value}
outboxes:
  - table: a.b.c
  - columns: [id]
delivery:
  window: {records: -1, bytes: 32MB}
  drain: 2h
http: [1]
htpp: {}
"""
    assert [line.split(": ")[0:2] for line in _problems(text)] == [
        ["relay.yaml:1", "source.publication"],
        ["relay.yaml:2", "source.dsn"],
        ["relay.yaml:3", "source.slot"],
        ["relay.yaml:4", "source.wal_sender_timeout"],
        ["relay.yaml:6", "sink.kafka.bootstrap.servers"],
        ["relay.yaml:7", "sink.kafka.acks"],
        ["relay.yaml:8", "sink.kafka.ssl"],
        ["relay.yaml:10", "outboxes[0].table"],
        ["relay.yaml:11", "outboxes[1].columns"],
        ["relay.yaml:13", "delivery.window.records"],
        ["relay.yaml:13", "delivery.window.bytes"],
        ["relay.yaml:14", "delivery.drain"],
        ["relay.yaml:15", "http"],
        ["relay.yaml:16", "htpp"],
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "relay.yaml:1: empty; it needs at least source, sink and outboxes"),
        ("# only a comment\n", "relay.yaml:1: empty; it needs at least source, sink and outboxes"),
        ("- a\n", "relay.yaml:1: expected a mapping with the keys source, sink and outboxes"),
        ("just text", "relay.yaml:1: expected a mapping with the keys source, sink and outboxes"),
        (_GOOD + "---\na: b\n", "relay.yaml:10: not YAML at column 1: but found another document"),
        ("source: [\n", "relay.yaml:2: not YAML at column 1: expected the node content, but found '<stream end>'"),
        ("a: b\n  c: d\n", "relay.yaml:2: not YAML at column 4: mapping values are not allowed here"),
        ("a: \x01", "relay.yaml:1: not YAML: a control character, which YAML does not allow"),
        (_GOOD + "http: &a {}\ndelivery: *a\n", "relay.yaml:11: aliases (*name) are refused; write it out"),
        (
            _GOOD + 'service: "\\U00110000"\n',
            "relay.yaml:10: not YAML at column 13: found a number that no character or version has",
        ),
        (
            _GOOD + 'service: "\\UFFFFFFFF"\n',
            "relay.yaml:10: not YAML at column 13: found a number that no character or version has",
        ),
        (
            f"%YAML 1.{'9' * 5000}\n---\n{_GOOD}",
            "relay.yaml:1: not YAML at column 9: found a number that no character or version has",
        ),
        (_GOOD + '    routes: [{topic: t, headers: {"\\ud800": x}}]\n', _NO_TEXT),
        ("a: " + "[" * 5000, "relay.yaml:1: nested deeper than 32 levels"),
        (_GOOD + "http:\n", "relay.yaml:10: http: has no value; give it one, or remove the key"),
        (_GOOD + "? [a]\n: b\n", "relay.yaml:10: ?: a key must be one word, not a list or a mapping"),
        (_GOOD + "sink: {}\n", "relay.yaml:10: sink: given twice, first on line 5; remove one"),
        (
            _GOOD + "http: !!python/object/apply:os.system [x]\n",
            "relay.yaml:10: http: tags (!…) are refused; only plain values, lists and mappings are read",
        ),
        (_GOOD + "http: {listen: on}\n", "relay.yaml:10: http.listen: expected host:port such as"),
        (_GOOD.replace("orders_outbox", "yes", 1), "relay.yaml:3: source.slot: expected text, found a yes/no value"),
        (_GOOD + "http: {}\ndelivery: 5\n", "relay.yaml:11: delivery: expected a mapping, found text"),
        (_GOOD.split("outboxes")[0] + "outboxes: []\n", "relay.yaml:8: outboxes: at least one outbox is needed"),
        (_GOOD.split("outboxes")[0] + "outboxes: {}\n", "relay.yaml:8: outboxes: expected a list, found a mapping"),
        (_GOOD.split("outboxes")[0], "relay.yaml:1: outboxes: missing; it is required"),
        (_GOOD + "  - table: outbox\n", "relay.yaml:10: outboxes[1].table: the same table as outboxes[0]"),
        (_GOOD + "delivery: {drain: 61m}\n", "relay.yaml:10: delivery.drain: must be between 0s and 1h"),
        (_GOOD + "parking: {limits: {}}\n", "relay.yaml:10: parking.limits: unknown key; did you mean 'limit'?"),
    ],
)
def test_what_is_wrong_is_said_once_with_its_line(text: str, problem: str) -> None:
    (found,) = _problems(text)
    assert found.startswith(problem)


@pytest.mark.parametrize("name", ["missing.yaml", "."])
def test_a_file_that_cannot_be_read_is_a_configuration_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="cannot read the configuration file"):
        load(tmp_path / name)


def test_a_file_that_is_not_text_is_a_configuration_error(tmp_path: Path) -> None:
    file = tmp_path / "relay.yaml"
    file.write_bytes(b"a: b\nc: \xff\n")
    with pytest.raises(ConfigError, match=r"relay\.yaml:2: not UTF-8"):
        load(file)
    file.write_bytes(b"#" * (1 << 20) + b"#")
    with pytest.raises(ConfigError, match="1 MiB"):
        load(file)


@given(st.text())
def test_garbage_is_a_configuration_error_and_nothing_else(text: str) -> None:
    assert _problems(text)


_PLAIN_KEYS = ["source", "sink", "kafka", "outboxes", "delivery", "http", "dsn", "slot", "table", "listen"]
_KEYS = st.sampled_from([*_PLAIN_KEYS, "routes", "when", "topic", "retry", "parking", "limit", "ordering", "on_dead"])
_TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(_KEYS | st.text(), below, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(_KEYS, _TREES))
def test_any_yaml_is_a_configuration_error_and_nothing_else(tree: dict[str, object]) -> None:
    assert _problems(yaml.safe_dump(tree))


@pytest.mark.parametrize("example", _EXAMPLES, ids=lambda path: path.name)
def test_every_ready_example_loads(example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("PGHOST", "RELAY_DB_PASSWORD", "KAFKA_BROKERS"):
        monkeypatch.setenv(variable, "value")
    assert load(example).outboxes


def test_the_ready_examples_are_there() -> None:
    names = {example.name for example in _EXAMPLES}
    assert names >= {"minimal.yaml", "debezium-compatible.yaml", "routes.yaml", "try-out.yaml"}
