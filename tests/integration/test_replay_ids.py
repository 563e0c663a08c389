"""Replays of event ids from a file: their order, which are missing, and that other conditions hold beside them."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from tests.fixtures.fix_relay import MakeRelay, Pipeline
from tests.fixtures.outbox import create_outbox, insert_event
from tests.integration.replay_rig import ids_of, insert_rows, replay, summary

pytestmark = pytest.mark.kafka


def test_ids_come_in_the_order_of_the_file_and_those_not_found_are_listed(
    pipeline: Pipeline, make_relay: MakeRelay, tmp_path: Path
) -> None:
    ids = insert_rows(pipeline, 8)
    unknown = str(uuid.uuid4())
    wanted = [ids[5].upper(), unknown, ids[1], "", ids[3], ids[1]]
    file = tmp_path / "ids.txt"
    file.write_text("\n".join(wanted))
    done = summary(replay(make_relay, pipeline, "--ids", str(file)))
    assert ids_of(pipeline.wait_for_records(3)) == [ids[5], ids[1], ids[3]]
    assert (done["published"], done["missing_ids"]) == (3, [unknown])


def test_an_id_that_one_of_several_outboxes_has_is_not_missing(
    pipeline: Pipeline, make_relay: MakeRelay, tmp_path: Path
) -> None:
    ids = insert_rows(pipeline, 2)
    with pipeline.database.connect() as conn:
        create_outbox(conn, "public.commands")
        ids += [insert_event(conn, pipeline.aggregate_type, table="public.commands") for _ in range(2)]
    unknown = str(uuid.uuid4())
    file = tmp_path / "ids.txt"
    file.write_text("\n".join([*ids, unknown]))
    both = [{"table": "public.outbox"}, {"table": "public.commands"}]
    done = summary(replay(make_relay, pipeline, "--ids", str(file), outboxes=both))
    assert sorted(ids_of(pipeline.wait_for_records(4))) == sorted(ids)
    assert (done["published"], done["missing_ids"]) == (4, [unknown])
    preview = summary(replay(make_relay, pipeline, "--ids", str(file), "--dry-run", outboxes=both))
    assert preview["missing_ids"] == [unknown]


def test_ids_and_where_hold_together(pipeline: Pipeline, make_relay: MakeRelay, tmp_path: Path) -> None:
    ids = insert_rows(pipeline, 6)
    file = tmp_path / "ids.txt"
    file.write_text("\n".join(ids[:4]))
    done = summary(replay(make_relay, pipeline, "--ids", str(file), "--where", "aggregateid = 'k0' AND id IS NOT NULL"))
    assert ids_of(pipeline.wait_for_records(2)) == [ids[0], ids[3]]
    assert done["missing_ids"] == [ids[1], ids[2]]
