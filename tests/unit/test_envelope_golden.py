"""What each envelope makes of every kind of value, byte for byte. After a change on purpose: python -m tests.golden"""

from __future__ import annotations

import json

import pytest

from cdc_relay.routing.json_text import is_json
from tests.golden.corpus import CASES, OUTBOX, SOURCE
from tests.golden.files import ENVELOPES, path_of, render

JSON_ENVELOPES = ("native", "cloudevents-structured", "debezium-fields", "debezium-expanded-fields")


@pytest.mark.parametrize("name", ENVELOPES)
def test_an_envelope_writes_what_its_golden_file_has(name: str) -> None:
    assert render(name).split(b"\n") == path_of(name).read_bytes().split(b"\n")


@pytest.mark.parametrize("name", JSON_ENVELOPES)
def test_every_value_of_a_json_envelope_is_json(name: str) -> None:
    lines = [json.loads(line) for line in path_of(name).read_text("utf-8").splitlines()]
    assert all(is_json(line["value"]) for line in lines if line.get("value") is not None)


def test_the_payload_of_a_json_column_is_inside_as_it_is_written() -> None:
    for case in (case for case in CASES if case.type_oid in (114, 3802) and case.printed is not None):
        for name in ("native", "cloudevents-structured", "debezium-expanded-fields"):
            encoded = ENVELOPES[name].bind(OUTBOX, case.columns)(case.row, b"k-1", SOURCE)
            assert (case.printed or b"") in (encoded[0] if isinstance(encoded[0], bytes) else b""), (name, case.name)
