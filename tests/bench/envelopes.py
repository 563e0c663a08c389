"""`python -m tests.bench.envelopes`: what an envelope costs per event, in us of CPU; the best of several rounds."""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable

from cdc_relay.model import Transaction
from cdc_relay.protocol.messages import Column
from cdc_relay.routing.envelopes.cloudevents import CloudEvents
from cdc_relay.routing.envelopes.debezium import Debezium, PlacedField
from cdc_relay.routing.envelopes.envelope import Encode, Envelope, Source, Values
from cdc_relay.routing.envelopes.native import Native
from cdc_relay.routing.envelopes.raw import Raw
from cdc_relay.routing.event_columns import EventColumns
from cdc_relay.routing.json_text import check_json, find_path, read_paths, scan_object

ROUNDS, CALLS, PER_TRANSACTION = 7, 20_000, 10
TRANSACTIONS = [Transaction(commit_lsn=lsn, commit_time_us=1_767_323_045_123_456, xid=777) for lsn in (1, 2)]
PAYLOAD = b'{"line": 1, "note": "' + b"x" * 230 + b'", "order": 12345, "customer": {"id": 17, "name": "Zo\xc3\xab"}}'
OUTBOX = EventColumns(
    "public",
    "outbox",
    "public.outbox",
    "id",
    "aggregateid",
    "type",
    "payload",
    correlation_column="correlation_id",
    tenant_column="tenant",
    timestamp_column="created_at",
)
CELLS = {
    "id": (2950, b"6f1c3a52-8d9e-4b7a-9c61-0d2f4e5a7b80"),
    "aggregatetype": (25, b"order"),
    "aggregateid": (25, b"order-17"),
    "type": (25, b"OrderPlaced"),
    "payload": (3802, PAYLOAD),
    "correlation_id": (25, b"3d0a7a52"),
    "tenant": (25, b"acme"),
    "created_at": (1184, b"2026-01-02 03:04:05.123456+00"),
}
ENVELOPES: dict[str, Envelope] = {
    "debezium": Debezium(),
    "debezium, a field in a header": Debezium(fields=(PlacedField("type", "header", "eventType"),)),
    "debezium, expanded, a field in the envelope": Debezium(True, (PlacedField("type", "envelope", "type"),)),
    "raw": Raw(),
    "native": Native(),
    "cloudevents": CloudEvents(),
    "cloudevents, structured": CloudEvents("structured"),
}


def main() -> None:
    columns = tuple(Column(name, oid, -1, False) for name, (oid, _) in CELLS.items())
    row = tuple(value for _, value in CELLS.values())
    print(f"envelopes, {len(PAYLOAD)} bytes of payload, {PER_TRANSACTION} rows per transaction: us per event")
    for name, envelope in ENVELOPES.items():
        print(f"  {name:<45} {_measure_rows(envelope.bind(OUTBOX, columns), row):6.2f}")
    print("JSON as text, the same payload: us per call")
    for name, call in _JSON_CALLS.items():
        print(f"  {name:<45} {_best(call, CALLS):6.2f}")


_JSON_CALLS: dict[str, Callable[[], object]] = {
    "check_json": lambda: check_json(PAYLOAD),
    "scan_object": lambda: scan_object(PAYLOAD),
    "find_path customer.id": lambda: find_path(PAYLOAD, ("customer", "id")),
    "read_paths customer.id": lambda: read_paths(PAYLOAD, [("customer", "id")]),
}


def _measure_rows(encode: Encode, row: Values) -> float:
    sources = [Source(transaction, ordinal) for transaction in TRANSACTIONS for ordinal in range(PER_TRANSACTION)]

    def encode_all() -> None:
        for source in sources:
            encode(row, b"order-17", source)

    return _best(encode_all, CALLS // len(sources)) / len(sources)


def _best(call: Callable[[], object], calls: int) -> float:
    return min(timeit.repeat(call, number=calls, repeat=ROUNDS, timer=time.process_time)) / calls * 1e6


if __name__ == "__main__":
    main()
