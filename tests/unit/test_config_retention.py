"""How long things stay, as the file spells it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from cdc_relay.admin.retention.kept import kept_tables
from cdc_relay.config import RelayConfig, find_warnings, load
from cdc_relay.errors import ConfigError

BASE = {"source": {"dsn": "host=db", "slot": "s", "publication": "p"}, "sink": "none"}


def loaded(directory: Path, retention: Any, *outboxes: dict[str, Any]) -> RelayConfig:
    file = directory / "relay.yaml"
    file.write_text(yaml.safe_dump({**BASE, "outboxes": list(outboxes) or [{"table": "a"}], "retention": retention}))
    return load(file)


def test_by_default_only_the_lot_is_cleaned(tmp_path: Path) -> None:
    config = loaded(tmp_path, {})
    assert config.retention.lot_seconds == 30 * 86_400
    assert kept_tables(config) == []


def test_off_is_off_whether_yaml_reads_it_as_false_or_as_text(tmp_path: Path) -> None:
    for off in (False, "off"):
        assert loaded(tmp_path, {"lot": off}).retention.lot_seconds == 0


def test_an_outbox_says_it_for_itself(tmp_path: Path) -> None:
    outboxes = {"table": "a"}, {"table": "b", "retention": "2d"}, {"table": "c", "retention": "off"}
    kept = kept_tables(loaded(tmp_path, {"outbox": "12h"}, *outboxes, {"message_prefix": "m"}))
    assert [(each.label, each.keep_seconds) for each in kept] == [("public.a", 43_200), ("public.b", 172_800)]


def test_the_time_is_the_mapped_column_or_created_at(tmp_path: Path) -> None:
    mapped = {"table": "b", "columns": {"timestamp": "occurred"}}
    kept = kept_tables(loaded(tmp_path, {"outbox": "2d"}, {"table": "a"}, mapped))
    assert [each.time_column for each in kept] == ["created_at", "occurred"]
    assert [each.place.rpartition(": ")[2] for each in kept] == ["retention", "outboxes[1].columns.timestamp"]


def test_with_partitions_every_table_is_looked_at(tmp_path: Path) -> None:
    [kept] = kept_tables(loaded(tmp_path, {"partitions": True}))
    assert (kept.by_month, kept.keep_seconds) == (True, 0)


@pytest.mark.parametrize("key", ["lot", "outbox"])
@pytest.mark.parametrize("value", ["30", "59m", "3651d", "0s", "forever", True, 7, 0, 0.0, 86_400])
def test_what_is_no_time_to_stay_is_refused_with_its_line(tmp_path: Path, key: str, value: object) -> None:
    with pytest.raises(ConfigError, match=rf"relay\.yaml:\d+: retention\.{key}: "):
        loaded(tmp_path, {key: value})


@pytest.mark.parametrize("sink", ["none", "log"])
def test_rows_that_are_removed_and_published_nowhere_are_warned_of(tmp_path: Path, sink: str) -> None:
    file = tmp_path / "relay.yaml"
    outboxes = [{"table": "a"}, {"table": "b", "retention": "off"}, {"table": "c", "retention": "2d"}]
    given = {**BASE, "sink": sink, "outboxes": outboxes, "retention": {"outbox": "7d"}}
    file.write_text(yaml.safe_dump(given, sort_keys=False))
    said = list(find_warnings(load(file)))
    assert [text.partition(": rows of ")[2] for text in said] == [
        f"public.{table} are removed although sink: {sink} publishes them nowhere" for table in "ac"
    ]
    assert ["retention.outbox" in said[0], "outboxes[2].retention" in said[1]] == [True, True]
    file.write_text(yaml.safe_dump(given | {"sink": {"kafka": {"bootstrap.servers": "k:9092"}}}))
    assert list(find_warnings(load(file))) == []


def test_messages_are_in_no_table(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"outboxes\[0\]\.retention: messages are in no table"):
        loaded(tmp_path, {}, {"message_prefix": "m", "retention": "2d"})
