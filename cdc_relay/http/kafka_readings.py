"""What librdkafka counts, from the JSON that it prints: its queue, and how each broker answers.

Parsed when `/metrics` is read, never on the loop's thread. A text that cannot be read shows nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import orjson

from cdc_relay.http.sample import Sample

__all__ = ["read_kafka"]

Document = dict[str, object]

_BOOTSTRAP_ID = -1  # an address of the YAML; the broker behind it has an entry of its own


def read_kafka(text: str) -> Iterator[Sample]:
    try:
        document = cast(Document, orjson.loads(text or "{}"))
    except orjson.JSONDecodeError:
        return
    if not isinstance(document, dict) or not document:
        return
    yield Sample("outbox_kafka_queue_records", _number(document, "msg_cnt"))
    yield Sample("outbox_kafka_queue_bytes", _number(document, "msg_size"))
    for broker in cast(dict[str, Document], document.get("brokers", {})).values():
        if _number(broker, "nodeid") > _BOOTSTRAP_ID:
            yield from _read_broker(broker)


def _read_broker(broker: Document) -> Iterator[Sample]:
    labels = (f"{broker.get('nodename', '')}/{_number(broker, 'nodeid'):.0f}",)  # an address may have two, in turn
    yield Sample("outbox_kafka_broker_up", float(broker.get("state") == "UP"), labels)
    in_flight = _number(broker, "outbuf_cnt") + _number(broker, "waitresp_cnt")
    yield Sample("outbox_kafka_broker_requests_in_flight", in_flight, labels)
    rtt = cast(Document, broker.get("rtt", {}))
    if _number(rtt, "cnt"):
        yield Sample("outbox_kafka_broker_rtt_seconds", _number(rtt, "avg") / 1e6, labels)


def _number(document: Document, name: str) -> float:
    value = document.get(name, 0)
    return value if isinstance(value, int | float) else 0
