"""Faults of the places where events come from and go to: the lot's disk, the topic's rights, a topic that is deleted
and made again, the outbox' columns, the publication."""

from __future__ import annotations

import random
from pathlib import Path

from confluent_kafka.admin._acl import AclBinding, AclBindingFilter, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType

from tests.chaos.walk.fault import Fault, last
from tests.chaos.walk.ground import Ground
from tests.integration.printed_steps import last_words, printed_steps, take_first_steps

__all__ = ["DISK_FULL", "PLACE_FAULTS"]

EVERYBODY, RELAY = "User:*", "User:ANONYMOUS"  # all come in without a name
FIRST_COUNT, SECOND_COUNT = 40, 15  # fewer on the new topic: a consumer that was further sees that it is another one


def fill_disk(ground: Ground, rng: random.Random) -> None:
    if ground.disk is None:
        return  # only root can mount one; the walk's other choices stay the same
    before = _complaint_count(ground)
    ground.disk.fill()
    try:
        last(rng, 4, 8)
    finally:
        ground.disk.free()
    ground.felt["the lot complained of its disk"] += _complaint_count(ground) > before


def _complaint_count(ground: Ground) -> int:
    """Of those that the log does not hold back as repetitions. There may be none: with a broker away at the same time
    nothing is refused, so nothing is to be parked."""
    return ground.relay.stderr.count('"lot_trouble"')


def withdraw_write(ground: Ground, rng: random.Random) -> None:
    topic = ground.pipeline.topic
    admin = ground.cluster.admin()
    what = (ResourceType.TOPIC, topic, ResourcePatternType.LITERAL)
    allowed = AclBinding(*what, EVERYBODY, "*", AclOperation.ALL, AclPermissionType.ALLOW)
    denied = AclBinding(*what, RELAY, "*", AclOperation.WRITE, AclPermissionType.DENY)
    for each in (allowed, denied):
        admin.create_acls([each])[each].result(30)
    last(rng, 2, 8)
    again = AclBindingFilter(*what, RELAY, "*", AclOperation.WRITE, AclPermissionType.DENY)
    admin.delete_acls([again])[again].result(30)


def recreate_topic(ground: Ground, rng: random.Random) -> None:
    """One of its own: what was on a deleted topic cannot be read again, so all of it is read before."""
    name = f"passing-{rng.getrandbits(32):08x}"
    topic = ground.make_topic(name)
    ground.wait_until_arrived(ground.write(name, FIRST_COUNT))
    ground.cluster.delete_topic(topic)
    later = ground.write(name, SECOND_COUNT)
    last(rng, 2, 6)
    ground.make_topic(name)
    ground.wait_until_arrived(later)


def alter_outbox(ground: Ground, rng: random.Random) -> None:
    """Columns that nobody asked for come and go; the writers name theirs."""
    table = ground.pipeline.table
    for statement in (
        f"ALTER TABLE {table} ADD COLUMN passing text DEFAULT 'x'",
        f"ALTER TABLE {table} RENAME COLUMN passing TO gone_soon",
        f"ALTER TABLE {table} ALTER COLUMN gone_soon TYPE varchar(100)",
        f"ALTER TABLE {table} DROP COLUMN gone_soon",
    ):
        ground.database.execute(statement)
        last(rng, 0.2, 1)


def drop_publication(ground: Ground, rng: random.Random) -> None:
    """The relay has to refuse, and what it prints has to bring everything back."""
    ground.database.execute(f"DROP PUBLICATION {ground.pipeline.publication}")
    said = last_words(ground.relay)
    *first, _ = printed_steps(said)
    take_first_steps(ground.pipeline, first, Path(ground.directory))
    ground.start_relay_once("--accept-gap")


def discard(ground: Ground, rng: random.Random) -> None:
    """An operator decides about some that gave up."""
    dead = [number for (number,) in ground.database.execute(DEAD)]
    chosen = rng.sample(dead, min(3, len(dead)))
    for number in chosen:
        ground.dlq("discard", str(number), "--reason", "a walk", "--yes")


DEAD = "SELECT id FROM cdc_relay.parked_records WHERE status = 'dead'"

DISK_FULL = Fault("the lot's disk full", ("lot", "postgres"), fill_disk, needs_bad_rows=True)
PLACE_FAULTS = (
    Fault("write on the topic withdrawn", ("brokers",), withdraw_write),
    Fault("topic deleted and made again", ("brokers", "postgres"), recreate_topic),
    Fault("columns of the outbox altered", ("postgres",), alter_outbox, repeats=False),
    Fault("dead letters discarded", ("lot", "postgres"), discard, repeats=False, needs_bad_rows=True),
    Fault("publication dropped", ("relay", "postgres"), drop_publication, replays=True, is_lonely=True),
)
