"""A disk of the lot that is really full, and nothing else of the server's: a tmpfs with a tablespace on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fixtures.fix_postgres import MakePostgres
from tests.fixtures.fix_proxy import MakeProxy
from tests.fixtures.fix_relay import MakePipeline
from tests.fixtures.parked import end_lsn, parked
from tests.fixtures.postgres_install import Install
from tests.fixtures.small_disk import SmallDisk, can_mount
from tests.integration.lot_trouble_rig import Ground, hear_status_updates, wait_confirmed, wait_holding

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.real_kafka,
    pytest.mark.skipif(not can_mount(), reason="only root can mount a disk, on Linux"),
]


@pytest.fixture
def disk() -> Iterator[SmallDisk]:
    disk = SmallDisk("32m")
    try:
        yield disk
    finally:
        disk.destroy()


def test_a_full_disk_holds_what_has_to_be_parked_and_nothing_else(
    disk: SmallDisk,
    make_postgres: MakePostgres,
    make_pipeline: MakePipeline,
    make_proxy: MakeProxy,
    postgres_install: Install,
) -> None:
    server = make_postgres()
    ground = Ground(make_pipeline(server=server), make_proxy("127.0.0.1", server.port))
    disk.take_lot(ground.database, user=postgres_install.user)
    relay = ground.start()
    disk.fill()
    before = end_lsn(ground.database)
    bad, good = ground.insert_bad(2), ground.insert_good(20)
    end = end_lsn(ground.database)
    ground.pipeline.wait_for_records(20)
    wait_holding(relay, "No space left on device")
    hear_status_updates(ground.pipeline)
    assert ground.pipeline.confirmed_lsn() <= before

    disk.free()
    wait_confirmed(ground, end)
    assert parked(ground.database, "event_id, status") == [(each, "dead") for each in bad]
    assert ground.delivered() == good
