"""A pipeline under the slot guard: what arrived, where the ceiling is, and ways to spoil a slot."""

from __future__ import annotations

from collections.abc import Callable

from cdc_relay.protocol.lsn import parse_lsn
from cdc_relay.sources.slot import start_stream
from tests.fixtures.fix_relay import Pipeline
from tests.fixtures.process import wait_until

__all__ = ["FAULTS", "advance", "ceiling", "drop_slot", "has_guard", "recreate", "relay_role", "wait_until_arrived"]


def event_ids(pipeline: Pipeline) -> set[str]:
    return {str(dict(record.headers() or [])["id"]) for record in pipeline.records()}


def wait_until_arrived(pipeline: Pipeline, *ids: str) -> None:
    wait_until(
        lambda: {str(each.encode()) for each in ids} <= event_ids(pipeline),
        timeout=60,
        what="every event arrives",
        every=0.2,
    )


def has_guard(pipeline: Pipeline) -> bool:
    return bool(pipeline.database.execute("SELECT 1 FROM cdc_relay.guard WHERE slot = %s", [pipeline.slot]))


def ceiling(pipeline: Pipeline) -> int:
    [(lsn,)] = pipeline.database.execute("SELECT ceiling - '0/0' FROM cdc_relay.guard WHERE slot = %s", [pipeline.slot])
    return int(lsn)


def relay_role(pipeline: Pipeline) -> str:
    [(role,)] = pipeline.database.execute(
        "SELECT usename FROM pg_stat_activity WHERE application_name LIKE %s AND datname = %s LIMIT 1",
        [f"cdc-relay:{pipeline.slot}%", pipeline.database.name],
    )
    return str(role)


def drop_slot(pipeline: Pipeline) -> None:
    free = "SELECT active_pid IS NULL FROM pg_replication_slots WHERE slot_name = %s"
    wait_until(lambda: pipeline.database.execute(free, [pipeline.slot]) == [(True,)], timeout=30, what="slot is free")
    pipeline.database.execute("SELECT pg_drop_replication_slot(%s)", [pipeline.slot])


def make_slot(pipeline: Pipeline) -> None:
    pipeline.database.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [pipeline.slot])


def lose(pipeline: Pipeline) -> str:
    drop_slot(pipeline)
    return pipeline.insert()


def recreate(pipeline: Pipeline) -> str:
    lost = lose(pipeline)
    make_slot(pipeline)
    return lost


def advance(pipeline: Pipeline) -> str:
    lost = pipeline.insert()
    pipeline.database.execute("SELECT pg_replication_slot_advance(%s, pg_current_wal_lsn())", [pipeline.slot])
    return lost


def confirm_the_future(pipeline: Pipeline) -> str:
    """Any reader may confirm any position: Postgres takes it."""
    lost = pipeline.insert()
    [(lsn,)] = pipeline.database.execute("SELECT pg_current_wal_lsn() + 100000000")
    overconfirm(pipeline, lsn)
    return lost


def overconfirm(pipeline: Pipeline, lsn: str) -> None:
    stream = start_stream(
        pipeline.database.dsn(replication="database"),
        slot=pipeline.slot,
        publication=pipeline.publication,
        wal_sender_timeout_seconds=10,
    )
    try:
        position = parse_lsn(lsn)
        stream.send_status(write_lsn=position, flush_lsn=position, reply_requested=True)
        wait_until(lambda: pipeline.confirmed_lsn() >= position, timeout=30, what="Postgres believes it")
    finally:
        stream.close()


def swap_publication(pipeline: Pipeline) -> str:
    """While nobody looks: out of the publication, a row, and back in."""
    name = pipeline.publication
    pipeline.database.execute(f"ALTER PUBLICATION {name} DROP TABLE public.outbox")
    lost = pipeline.insert()
    pipeline.database.execute(f"ALTER PUBLICATION {name} ADD TABLE public.outbox")
    return lost


def drop_publication(pipeline: Pipeline) -> str:
    pipeline.database.execute(f"DROP PUBLICATION {pipeline.publication}")
    return pipeline.insert()


# what is done to the slot, giving the id of an event that it does not have; and what the guard says of it
FAULTS: dict[str, tuple[Callable[[Pipeline], str], str]] = {
    "dropped": (lose, "replication slot {slot} is gone"),
    "recreated": (recreate, "it was advanced, or dropped and made again"),
    "advanced": (advance, "it was advanced, or dropped and made again"),
    "confirmed beyond the WAL": (confirm_the_future, "beyond the end of the server's WAL"),
    "publication dropped": (drop_publication, "there is no publication {publication}"),
    "publication changed": (swap_publication, "publication {publication} is not as it was when it was last seen"),
}
