"""Everything that `check` can find, by name: what it looks at, and what is at stake. Pure; docs/check.md has it too."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ENTRIES", "ORDER", "Entry", "table"]


@dataclass(frozen=True, slots=True)
class Entry:
    looks_at: str
    stake: str


_NO_START = "the relay refuses to start"
_TABLE_SKIPPED = "rows of this table are not published"

ENTRIES: dict[str, Entry] = {
    "config": Entry("what the file says against itself", "the configuration does not do what it seems to say"),
    # --- Postgres: the server
    "postgres.reachable": Entry(
        "connecting as `source.dsn` says", "nothing is read; the slot keeps WAL on the server's disk meanwhile"
    ),
    "postgres.certificates": Entry(
        "the server's certificate, and those that `source.dsn` and `parking.dsn` name: 30 days before they expire",
        "once a certificate has expired no new connection is made",
    ),
    "postgres.version": Entry("15 or newer", "older servers lack what the relay needs"),
    "postgres.primary": Entry(
        "that the server takes writes: no standby, not read-only", "the relay cannot park records or guard the slot"
    ),
    "postgres.clock": Entry(
        "this machine's clock against the server's: 5 s at most",
        "ages are wrong, and what is scheduled goes out up to 10 s late",
    ),
    "postgres.wal_level": Entry("`logical`", "a slot cannot be made or read"),
    "postgres.max_slot_wal_keep_size": Entry(
        "a limit, and one of 1 GB or more",
        "without a limit a stopped relay fills the server's disk and stops every writer; with a small one a short stop"
        " loses the slot, and with it events",
    ),
    "postgres.wal_sender_timeout": Entry(
        "`source.wal_sender_timeout`, which the relay sets for its session whatever the server has: 5 min at most",
        "when the relay's host dies, its slot stays taken for so long, and no other process can go on",
    ),
    "postgres.idle_replication_slot_timeout": Entry(
        "0 (Postgres 18)", "a relay that is stopped for longer loses its slot, and with it events"
    ),
    "postgres.replication_slots": Entry(
        "`max_replication_slots` against those there are", "`cdc-relay setup` cannot make the slot"
    ),
    "postgres.wal_senders": Entry(
        "`max_wal_senders` against those that run", "the relay cannot connect to its slot and waits"
    ),
    "postgres.replication": Entry("a replication connection, by opening one", _NO_START),
    "postgres.synchronous_standby_names": Entry(
        "that it does not match the relay", "commits in the whole server would wait for Kafka"
    ),
    # --- Postgres: publication and tables
    "postgres.publication": Entry("that it exists", _NO_START),
    "postgres.publication.inserts": Entry("that it publishes inserts", "no row of any outbox is published"),
    "postgres.publication.operations": Entry(
        "that it publishes nothing but inserts",
        "updates, deletes and truncates travel to the relay for nothing; without a replica identity Postgres refuses"
        " them to your application",
    ),
    "postgres.table": Entry("that every table under `outboxes` exists", _NO_START),
    "postgres.table.columns": Entry("that it has every column that mapping and routes name", _NO_START),
    "postgres.table.types": Entry(
        "the types of payload, key, headers, scheduled_at, timestamp and partition",
        "rows may be parked as dead, or keys may not be what consumers expect",
    ),
    "postgres.table.logged": Entry("that neither it nor a partition is unlogged", _TABLE_SKIPPED),
    "postgres.table.published": Entry("that the publication has it", _TABLE_SKIPPED),
    "postgres.table.partition_root": Entry("that a partitioned table is published under its own name", _TABLE_SKIPPED),
    "postgres.table.column_list": Entry("that the publication has every column that is needed", _NO_START),
    "postgres.table.row_filter": Entry(
        "that the publication has no `WHERE` for it", "rows that the filter leaves out are never published"
    ),
    # --- Postgres: the slot
    "postgres.slot": Entry("that it exists", "nothing is kept for the relay: rows committed now will not be published"),
    "postgres.slot.plugin": Entry("`pgoutput`", _NO_START),
    "postgres.slot.database": Entry("that it is of the database of `source.dsn`", _NO_START),
    "postgres.slot.two_phase": Entry("off", _NO_START),
    "postgres.slot.temporary": Entry("off", "the slot ends with the session that made it"),
    "postgres.slot.wal_status": Entry(
        "that the WAL it needs is there (`lost` fails, `unreserved` warns)", "events are missing, or are about to be"
    ),
    "postgres.slot.reader": Entry("who reads it", "the relay waits as long as somebody else reads its slot"),
    "postgres.slot.lag": Entry(
        "the WAL kept for it: half of `max_slot_wal_keep_size` at most, 10 GB where that is unlimited",
        "at the limit the slot is lost, without one the disk fills",
    ),
    "postgres.slot.failover": Entry(
        "on where the server has standbys (17 and newer)",
        "after a failover the new primary has no slot: events are missing until somebody replays them",
    ),
    "postgres.synchronized_standby_slots": Entry(
        "that it names the standbys' slots where the relay's slot is a failover slot (17 and newer)",
        "after a failover the relay may have published events that the new primary does not have",
    ),
    "postgres.long_transactions": Entry(
        "writing transactions older than 10 min, in any database",
        "the slot keeps all WAL since such a transaction began",
    ),
    "postgres.prepared_transactions": Entry(
        "prepared transactions older than 10 min", "the slot keeps all WAL since such a transaction began"
    ),
    # --- what cdc-relay has in Postgres
    "guard": Entry(
        "the guard's tables beside the slot: version and rights", "nobody notices a slot that was moved or made again"
    ),
    "guard.gap": Entry(
        "that the slot is where the relay left it, and its publication as it was", "events are missing from the slot"
    ),
    "backfill": Entry("that none is unfinished", _NO_START),
    "lot": Entry("the lot's tables: version and rights, in `parking.dsn` or `source.dsn`", _NO_START),
    "lot.size": Entry(
        "live records and bytes against `parking.limit`: 80 % at most", "at the limit the relay holds everything"
    ),
    "lot.dead": Entry("records that wait for an operator", "their events reach no consumer until somebody decides"),
    "retention": Entry(
        "whether rows of the outbox tables may go, or what keeps them", "the table grows until that is repaired"
    ),
    "retention.time": Entry(
        "the column that says how old a row is: there, and a timestamptz or timestamp",
        "rows of this table stay for ever",
    ),
    "retention.index": Entry(
        "an index that begins with that column", "to find old rows the whole table is read, every hour"
    ),
    "retention.partitions": Entry(
        "that a table whose months are asked for is partitioned so", "no partitions are made or dropped"
    ),
    "retention.rights": Entry(
        "the rights to remove rows, or to make and drop partitions",
        "rows stay; with partitions, producers fail once no month is left",
    ),
    "retention.lot": Entry("the right to remove resolved records", "the lot grows with every record that it ever had"),
    # --- Kafka
    "kafka.reachable": Entry("connecting as `sink.kafka` says", "nothing is published; the slot keeps WAL meanwhile"),
    "kafka.tls": Entry("the TLS handshake with the brokers", "nothing is published; the slot keeps WAL meanwhile"),
    "kafka.authentication": Entry("the login", "nothing is published; the slot keeps WAL meanwhile"),
    "kafka.certificates": Entry(
        "the brokers' certificates, and those that `sink.kafka` names: 30 days before they expire",
        "once a certificate has expired no new connection is made",
    ),
    "kafka.topic": Entry(
        "that each topic exists which a route, `topics:` or `parking.dead_letter_topic` names",
        "its records wait in the lot until the topic is there",
    ),
    "kafka.topic.rights": Entry("`Write` and `Describe` on it", "its records wait in the lot until the right is given"),
    "kafka.topic.replicas": Entry(
        "more than one where there are several brokers",
        "with one broker gone nothing is published to it, with its disk gone what was published is lost",
    ),
    "kafka.topic.min_isr": Entry(
        "`min.insync.replicas` of at least 2 where there are several replicas, and never more than replicas",
        "with 1 an acknowledged record may be on one disk alone; with too many brokers may refuse all records",
    ),
    "kafka.topic.in_sync": Entry(
        "that each partition has a leader and `min.insync.replicas` in sync now",
        "its records wait in the lot until the brokers are back",
    ),
    "kafka.topic.batch_size": Entry(
        "`max.message.bytes` of at least the producer's `batch.size`",
        "full batches are refused and sent again record by record: slower, and nothing is lost",
    ),
    "kafka.payload_size": Entry(
        "the largest payload in the outbox tables (a sample of 100,000 rows) against the producer's `message.max.bytes`"
        " and the topics' `max.message.bytes`",
        "rows so large are parked as dead",
    ),
    "kafka.topics_by_row": Entry(
        "nothing: topics whose names come out of rows cannot be known here", "such a topic may be missing"
    ),
}

ORDER = {name: place for place, name in enumerate(ENTRIES)}


def table() -> str:
    """As docs/check.md has it."""
    rows = [f"| `{name}` | {entry.looks_at} | {entry.stake} |" for name, entry in ENTRIES.items()]
    return "\n".join(["| finding | what is looked at | what is at stake |", "|---|---|---|", *rows, ""])
