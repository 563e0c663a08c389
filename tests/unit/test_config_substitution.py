"""${…} puts text into strings, once, and no message ever tells what it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdc_relay.config import RelayConfig
from cdc_relay.config.loader import parse
from cdc_relay.config.substitution import escape
from cdc_relay.errors import ConfigError

_FILE = """\
source: {dsn: postgresql://relay@db/orders, slot: s, publication: p, password: '%s'}
sink: {kafka: {bootstrap.servers: 'kafka:9092', client.id: '%s'}}
outboxes: [{table: outbox}]
"""
_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)


def _parse(text: str, *, folder: Path = Path(), **environment: str) -> RelayConfig:
    return parse(text, file="relay.yaml", environment=environment, folder=folder)


def _client_id(text: str, *, folder: Path = Path(), **environment: str) -> str:
    kafka = _parse(_FILE % ("x", text), folder=folder, **environment).sink.kafka
    assert kafka is not None
    return kafka["client.id"]


def _problem(text: str, *, folder: Path = Path(), **environment: str) -> str:
    with pytest.raises(ConfigError) as caught:
        _client_id(text, folder=folder, **environment)
    return str(caught.value)


def test_a_variable_is_put_into_the_middle_of_a_string() -> None:
    assert _client_id("a-${ZONE}-${HOST_1}", ZONE="eu", HOST_1="h") == "a-eu-h"


@given(_TEXT)
def test_what_is_put_in_is_neither_yaml_nor_searched_again(value: str) -> None:
    assert _client_id("${VALUE}", VALUE=value) == value


@given(_TEXT)
def test_what_is_escaped_reads_back(value: str) -> None:
    assert _client_id("${VALUE}", VALUE=escape(value)) == escape(value)
    assert _client_id("x$${VALUE}$$") == "x${VALUE}$$"


def test_a_secret_is_read_from_a_file_beside_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("line 1\nline 2\n")
    assert _client_id("${file:secret}", folder=tmp_path) == "line 1\nline 2"
    assert _client_id("${file:%s}" % (tmp_path / "secret")) == "line 1\nline 2"


def test_numbers_and_switches_may_come_from_the_environment() -> None:
    text = _FILE % ("x", "y") + "delivery: {window: {records: '${N}'}, drain: '${D}'}\nhttp: {listen: '${L}'}\n"
    config = _parse(text, N="5", D="2s", L="off")
    assert (config.delivery.window.records, config.delivery.drain_seconds, config.http.address) == (5, 2.0, None)


def test_an_unset_variable_is_named_with_its_line() -> None:
    assert _problem("${NOWHERE}") == ("relay.yaml:2: sink.kafka.client.id: the environment variable NOWHERE is not set")


@pytest.mark.parametrize("text", ["${", "${}", "${A B}", "${A:-b}", "a${b"])
def test_a_malformed_reference_is_refused(text: str) -> None:
    assert "write $${ for a literal ${" in _problem(text)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"s3cret\xff")
    (tmp_path / "huge").write_bytes(b"x" * ((1 << 20) + 1))
    assert "cannot read the file 'nothing': No such file" in _problem("${file:nothing}", folder=tmp_path)
    assert "cannot read the file ''" in _problem("${file:}", folder=tmp_path)
    assert "not UTF-8" in _problem("${file:binary}", folder=tmp_path)
    assert "1 MiB" in _problem("${file:huge}", folder=tmp_path)


def test_text_that_no_server_would_take_is_refused() -> None:
    assert "NUL" in _problem("${A}", A="a\0b")
    assert "UTF-8" in _problem("${A}", A="a\udcffb")


@pytest.mark.parametrize(
    "line",
    [
        "source: {dsn: '${S}', slot: '${S}', publication: '${S}', wal_sender_timeout: '${S}', password: '${S}'}",
        "sink: {kafka: {acks: '${S}', bootstrap.servers: ['${S}']}}",
        "outboxes: [{table: '${S}', columns: '${S}'}, '${S}']",
        "delivery: {window: {records: '${S}', bytes: '${S}'}, drain: '${S}', retry: '${S}', x: '${S}'}",
        "http: {listen: '${S}'}",
        "outboxes: '${S}'",
        "http: '${S}'",
    ],
)
def test_no_message_contains_what_was_put_in(line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        _parse(line, S="t0p secret!")
    assert "t0p" not in str(caught.value)
