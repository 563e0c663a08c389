"""Place an order and tell of it in one transaction, psycopg 3: python psycopg_sync.py 'host=localhost dbname=orders'"""

import sys
from decimal import Decimal
from typing import Any

import psycopg

from cdc_relay.outbox import Event, emit


def place_order(conn: psycopg.Connection[Any], order_id: str, total: Decimal) -> None:
    with conn.transaction():
        conn.execute("INSERT INTO orders (id, total) VALUES (%s, %s)", [order_id, total])
        placed = Event(
            aggregatetype="order",
            key=order_id,
            type="OrderPlaced",
            payload={"order": order_id, "total": total},
            headers={"source": "psycopg"},
            correlation_id="request-1",
        )
        emit(conn, placed)


def main(dsn: str) -> None:
    with psycopg.connect(dsn) as conn:
        place_order(conn, "sync-1", Decimal("99.90"))


if __name__ == "__main__":
    main(sys.argv[1])
