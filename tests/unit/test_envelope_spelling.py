"""What `config show` writes of an envelope is read as the same envelope."""

from __future__ import annotations

import pytest

from cdc_relay.config.envelopes import parse_envelope, spell_envelope

SPELLED = [
    "debezium",
    {"debezium": {"expand_json": True, "tombstone_on_empty": True}},
    {"debezium": {"fields": [{"column": '"Tenant Id"', "placement": "header", "alias": "tenant"}]}},
    "cloudevents",
    {"cloudevents": {"mode": "structured"}},
    {"cloudevents": {"source": "/orders", "subject": "aggregateid", "content_type": "application/json"}},
    "native",
    "raw",
]


@pytest.mark.parametrize("spelled", SPELLED, ids=str)
def test_what_is_written_is_what_was_read(spelled: object) -> None:
    envelope = parse_envelope(spelled)
    assert spell_envelope(envelope) == spelled
    assert parse_envelope(envelope) is envelope


def test_a_word_is_short_for_the_mode_of_cloudevents() -> None:
    assert parse_envelope({"cloudevents": "structured"}) == parse_envelope({"cloudevents": {"mode": "structured"}})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("avro", "unknown envelope"),
        ({"avro": {}}, "unknown envelope"),
        ({"raw": {"indent": 2}}, "unknown key; there are no options here"),
        ({"raw": 1}, "there are no options here"),
        ({}, "expected debezium"),
        (["raw"], "expected debezium"),
        ({"raw": None, "native": None}, "expected debezium"),
    ],
)
def test_what_is_no_envelope_is_refused(given: object, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_envelope(given)


def test_an_envelope_without_options_may_have_none() -> None:
    assert spell_envelope(parse_envelope({"raw": None})) == "raw"
