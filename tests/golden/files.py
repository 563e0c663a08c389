"""The golden files: one per envelope, a line per case. Bytes that are not UTF-8 are shown as base64."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path

from cdc_relay.model import Failure
from cdc_relay.routing.envelopes.cloudevents import CloudEvents
from cdc_relay.routing.envelopes.debezium import Debezium, PlacedField
from cdc_relay.routing.envelopes.envelope import Envelope
from cdc_relay.routing.envelopes.native import Native
from cdc_relay.routing.envelopes.raw import Raw
from tests.golden.corpus import CASES, OUTBOX, SOURCE, Case

__all__ = ["ENVELOPES", "path_of", "render"]

_FIELDS = (
    PlacedField("extra", "header", "x-extra"),
    PlacedField("tenant", "header", "tenant"),
    PlacedField("extra", "envelope", "extra"),
    PlacedField("version", "envelope", "schemaVersion"),
)

ENVELOPES: Mapping[str, Envelope] = {
    "raw": Raw(),
    "native": Native(),
    "cloudevents-binary": CloudEvents(),
    "cloudevents-structured": CloudEvents("structured"),
    "debezium": Debezium(),
    "debezium-expanded": Debezium(expand_json=True, tombstone_on_empty=True),
    "debezium-fields": Debezium(fields=_FIELDS),
    "debezium-expanded-fields": Debezium(expand_json=True, fields=_FIELDS),
}


def path_of(name: str) -> Path:
    return Path(__file__).parent / f"{name}.jsonl"


def render(name: str) -> bytes:
    return "".join(f"{json.dumps(_show(name, case), ensure_ascii=False)}\n" for case in CASES).encode()


def _show(name: str, case: Case) -> dict[str, object]:
    encoded = ENVELOPES[name].bind(OUTBOX, case.columns)(case.row, b"k-1", SOURCE)
    if isinstance(encoded, Failure):
        return {"case": case.name, "failure": encoded.code, "reason": encoded.reason}
    headers = [[header, _readable(value)] for header, value in encoded.headers]
    return {"case": case.name, "value": _readable(encoded.value), "headers": headers}


def _readable(value: bytes | None) -> object:
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode()}
