"""The reference and the schema say what the models do."""

from __future__ import annotations

import re
from pathlib import Path

from cdc_relay.config import json_schema
from cdc_relay.config.models import RelayConfig
from cdc_relay.config.reference import reference


def test_the_reference_in_docs_is_the_generated_one() -> None:
    written = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text()
    assert written == reference(), "run: python -m cdc_relay.config.reference > docs/configuration.md"


def test_every_key_of_the_reference_has_type_and_reason() -> None:
    rows = [line.split(" | ") for line in reference().split("## Properties")[0].splitlines() if line.startswith("| `")]
    assert len(rows) == 74
    assert all(row[1].strip() and len(row[-1]) > 10 for row in rows)


def test_the_schema_speaks_the_spelling_of_the_file() -> None:
    schema = json_schema()
    delivery = schema["$defs"]["DeliveryConfig"]["properties"]
    assert schema["required"] == ["source", "sink", "outboxes"]
    assert schema["additionalProperties"] is False
    keys = ["drain", "on_dead", "ordering", "partial_outage_after", "release_line_after", "retry", "window"]
    assert sorted(delivery) == keys
    assert schema["$defs"]["DeliveryRetryConfig"]["properties"]["preset"]["default"] == "standard"
    assert delivery["drain"]["default"] == "30s"
    assert schema["$defs"]["WindowConfig"]["properties"]["bytes"]["default"] == "8MiB"


def test_every_key_of_the_schema_is_described() -> None:
    schema = json_schema()
    sections = [schema, *schema["$defs"].values()]
    keys = [key for section in sections for key in section["properties"].values() if "$ref" not in key]
    assert all(key.get("description") for key in keys)
    assert all(section.get("description") for section in sections)


def test_patterns_let_a_reference_pass() -> None:
    drain = json_schema()["$defs"]["DeliveryConfig"]["properties"]["drain"]["pattern"]
    assert re.search(drain, "500ms")
    assert re.search(drain, "${DRAIN}")
    assert not re.search(drain, "30")


def test_the_schema_lets_no_key_be_null() -> None:
    assert "'null'" not in str(json_schema())
    jitter = json_schema()["$defs"]["RetryConfig"]["properties"]["jitter"]
    assert jitter["type"] == ["number", "string"]


def test_a_key_that_may_be_left_out_has_its_range_and_unit_in_the_reference() -> None:
    assert "| `delivery.retry.base` | duration | none | ms, s, m, h, d | 10ms … 7d |" in reference()


def test_the_models_know_no_key_twice() -> None:
    aliases = [info.serialization_alias or name for name, info in RelayConfig.model_fields.items()]
    assert len(set(aliases)) == len(aliases)
