"""The same with psycopg's asynchronous connections: python psycopg_async.py 'host=localhost dbname=orders'"""

import asyncio
import sys
from decimal import Decimal
from typing import Any

import psycopg

from cdc_relay.outbox import Event, emit_async


async def place_order(conn: psycopg.AsyncConnection[Any], order_id: str, total: Decimal) -> None:
    async with conn.transaction():
        await conn.execute("INSERT INTO orders (id, total) VALUES (%s, %s)", [order_id, total])
        placed = Event(
            aggregatetype="order",
            key=order_id,
            type="OrderPlaced",
            payload={"order": order_id, "total": total},
            headers={"source": "psycopg async"},
            correlation_id="request-1",
        )
        await emit_async(conn, placed)


async def main(dsn: str) -> None:
    async with await psycopg.AsyncConnection.connect(dsn) as conn:
        await place_order(conn, "async-1", Decimal("99.90"))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
