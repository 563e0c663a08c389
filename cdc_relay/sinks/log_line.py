"""A record as one line of JSON that loses nothing: what is not text is marked as base64, as in `dlq`. Pure."""

from __future__ import annotations

import orjson

from cdc_relay.model import Record
from cdc_relay.parking.desk_bytes import encode

__all__ = ["write_line"]


def write_line(record: Record) -> bytes:
    line: dict[str, object] = {"topic": record.topic}
    if record.partition >= 0:
        line["partition"] = record.partition
    line["timestamp_ms"] = record.timestamp_ms
    line["key"] = encode(record.key)
    line["headers"] = [_header(name, value) for name, value in record.headers]
    line["value"] = encode(record.value)
    return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)


def _header(name: str, value: bytes | None) -> dict[str, object]:
    shown = encode(value)
    return {"name": name, **shown} if isinstance(shown, dict) else {"name": name, "value": shown}
