"""No secret of the configuration is ever said, wherever in a line it would be and however it is spelled."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdc_relay.config.loader import load
from cdc_relay.http.pages import answer, build_pages
from cdc_relay.logs import learn_secrets, redact
from cdc_relay.logs.redaction import HIDDEN, Redaction
from cdc_relay.stats import State, Stats

PRINTABLE = st.characters(min_codepoint=33, max_codepoint=0x2FF)
SECRETS = st.text(PRINTABLE, min_size=12, max_size=40)
TEXTS = st.text(max_size=20)


def nested(leaf: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """The leaf, anywhere inside dictionaries, lists and tuples."""
    return st.recursive(
        leaf,
        lambda below: (
            st.lists(below, min_size=1, max_size=3)
            | st.dictionaries(TEXTS, below, min_size=1, max_size=3)
            | st.tuples(below, TEXTS)
        ),
        max_leaves=6,
    )


@st.composite
def leaks(draw: st.DrawFn) -> tuple[str, Any]:
    """A secret, and fields that have it somewhere, as somebody spells it."""
    secret = draw(SECRETS)
    spellings = [secret, quote(secret, safe=""), repr(secret), json.dumps(secret), repr(secret.encode())]
    spelled = draw(st.sampled_from(spellings))
    leaf = st.tuples(TEXTS, TEXTS).map(lambda around: around[0] + spelled + around[1])
    objects = leaf.map(ValueError) | leaf
    return secret, draw(nested(objects))


@given(leaks())
def test_a_secret_anywhere_in_nested_fields_is_hidden(leak: tuple[str, Any]) -> None:
    secret, fields = leak
    redaction = Redaction()
    redaction.learn([secret])
    cleaned = repr(redaction.clean_all(fields))
    for spelling in (secret, quote(secret, safe=""), json.dumps(secret)[1:-1]):
        assert spelling not in cleaned


@given(nested(st.integers() | st.none() | st.booleans()))
def test_what_is_no_text_stays_as_it_is(fields: Any) -> None:
    redaction = Redaction()
    redaction.learn(["hunter2-hunter2"])
    assert json.loads(json.dumps(redaction.clean_all(fields))) == json.loads(json.dumps(fields))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("postgresql://relay:s3cr3t@db/orders", "postgresql://relay:***@db/orders"),
        ("host=db password=s3cr3t user=relay", "host=db password=*** user=relay"),
        ("password = 's 3\\' r3t' user=x", "password = *** user=x"),
        ("sasl.password=s3cr3t, x", "sasl.password=***, x"),
        ('{"ssl.key.password": "s3cr3t", "a": 1}', '{"ssl.key.password": ***, "a": 1}'),
        ("oauth token=abc&x=1", "oauth token=***&x=1"),
    ],
)
def test_a_secret_that_nobody_told_us_is_known_by_what_is_before_it(text: str, expected: str) -> None:
    assert Redaction().clean(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "correct the password: source.password, PGPASSWORD, or a passfile",
        'password authentication failed for user "relay"',
        "bootstrap.servers=kafka:9092",
        "see https://example.org/a:b/c",
    ],
)
def test_words_about_secrets_stay_readable(text: str) -> None:
    assert Redaction().clean(text) == text


LONG = """
from cdc_relay.logs.redaction import Redaction
size = 200_000
for text in ("x" * size, "password" * (size // 8), "x" * size + " ://", "a://" + ":a" * size, "token='" + "x" * size):
    assert Redaction().clean(text) == text
"""


def test_a_long_text_does_not_stop_the_loop() -> None:
    """In a process of its own: nothing else would end a search that never ends."""
    subprocess.run([sys.executable, "-c", LONG], timeout=60, check=True)


PLAIN_KEY = r"[\w.]*(?:password|passphrase|secret|token)[\w.]*"
PLAIN = re.compile(rf"""({PLAIN_KEY} ?= ?|"{PLAIN_KEY}" ?: ?)(?:'[^']*'|"[^"]*"|[^\s,;&'"]+)""", re.IGNORECASE)
PIECES = st.sampled_from(["password", "Token", "secret", "x", ".", "-", " ", "=", ":", "'", '"', ",", "1"])


@given(st.lists(PIECES, max_size=12).map("".join))
def test_the_quick_search_hides_what_a_plain_one_would(text: str) -> None:
    assert Redaction().clean(text) == PLAIN.sub(rf"\1{HIDDEN}", text)


def test_a_field_that_is_named_for_a_secret_shows_none() -> None:
    fields = {"sasl.password": "x", "sasl.username": "relay"}
    assert Redaction().clean_all(fields) == {"sasl.password": HIDDEN, "sasl.username": "relay"}


def test_a_short_password_is_hidden_as_a_word_and_does_not_blind_the_log() -> None:
    redaction = Redaction()
    redaction.learn(["relay", "abc"])
    assert redaction.clean("cdc_relay: the password relay is wrong; abc") == "cdc_relay: the password *** is wrong; abc"


def test_a_line_of_a_private_key_is_hidden() -> None:
    redaction = Redaction()
    redaction.learn(["-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----"])
    assert redaction.clean("bad base64: hkiG9w0BAQEFAASC") == "bad base64: ***"


CONFIG = """
source: {dsn: "postgresql://relay:in%2Dthe%2Ddsn%2D1234@db/orders", slot: s, publication: p}
sink: {kafka: {bootstrap.servers: "k:9092", sasl.password: "of-the-broker-1234", sasl.username: relay-user-1234}}
outboxes: [{table: public.outbox}]
parking: {dsn: "host=lot sslpassword=of-the-key-1234", password: "${PARKING_PASSWORD}"}
"""
OF_CONFIG = ["in-the-dsn-1234", "in%2Dthe%2Ddsn%2D1234", "of-the-broker-1234", "of-the-key-1234", "from-outside-1234"]


@pytest.mark.parametrize("secret", [*OF_CONFIG, "of-the-environment-1234"])
def test_whoever_loads_a_configuration_cannot_print_its_secrets(
    secret: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PARKING_PASSWORD", "from-outside-1234")
    monkeypatch.setenv("PGPASSWORD", "of-the-environment-1234")
    file = tmp_path / "relay.yaml"
    file.write_text(CONFIG)
    load(file)
    assert redact(f"broken: {secret}!") == "broken: ***!"


def test_what_is_no_secret_of_the_configuration_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARKING_PASSWORD", "from-outside-1234")
    file = tmp_path / "relay.yaml"
    file.write_text(CONFIG)
    load(file)
    assert redact("user relay-user-1234 at k:9092") == "user relay-user-1234 at k:9092"


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/status"])
def test_no_page_shows_a_secret_that_an_error_quotes(path: str) -> None:
    learn_secrets(["planted-for-a-page"])
    stats = Stats()
    stats.enter(State.WAITING, "no connection: password planted-for-a-page")
    stats.note("password planted-for-a-page")
    body = answer(build_pages(stats), path, "").body
    assert (b"planted-for-a-page" in body, b"***" in body) == (False, True)
