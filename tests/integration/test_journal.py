"""cdc_relay.replays belongs to one process at a time, and who comes back late writes nothing over another's work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from cdc_relay.errors import AwayError, RefusedError
from cdc_relay.replay.journal import Counts, Journal, Kept
from cdc_relay.replay.position import Position
from cdc_relay.replay.selection import Selection
from cdc_relay.replay.table_session import ShortTransactions
from tests.fixtures.fix_postgres import Database
from tests.integration.setup_rig import OUTBOX, Setup

SELECTION = Selection(("public.outbox",))
WRITES: dict[str, Callable[[Journal, Kept], None]] = {
    "store": lambda journal, kept: journal.store(kept, Position(outbox=1), Counts(1, 1, 0, 0)),
    "finish": lambda journal, kept: journal.finish(kept, Counts(1, 1, 0, 0)),
    "note_slot": lambda journal, kept: journal.note_slot(kept, 1),
}


@pytest.fixture
def make_journal(database: Database, tmp_path: Path) -> Iterator[Callable[[], Journal]]:
    database.execute(OUTBOX.format("public.outbox"))
    setup = Setup(database, tmp_path / "relay.yaml")
    assert setup().exit_code == 0
    with ExitStack() as journals:
        yield lambda: journals.enter_context(closing(Journal(database.dsn(), slot=setup.slot)))


def cut_off(database: Database) -> None:
    """As when the network is gone for a while."""
    database.execute("SELECT pg_terminate_backend(pid, 30000) FROM pg_locks WHERE locktype = 'advisory'")


def row_of(database: Database, run: str) -> list[tuple[object, ...]]:
    columns = "state, attempt, position, read_count, slot_lsn"
    return database.execute(f"SELECT {columns} FROM cdc_relay.replays WHERE id = %s", [run])


@pytest.mark.core
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_a_process_that_was_overtaken_writes_nothing(
    make_journal: Callable[[], Journal], database: Database, write: Callable[[Journal, Kept], None]
) -> None:
    stale = make_journal()
    kept = stale.begin("backfill", SELECTION)
    cut_off(database)
    newer = make_journal()
    newer.resume(kept.id)
    newer.close()  # so that the lock is free again
    before = row_of(database, kept.id)
    with pytest.raises(AwayError):
        write(stale, kept)  # finds its connection gone
    with pytest.raises(RefusedError, match="was taken over or ended by somebody else"):
        write(stale, kept)
    assert row_of(database, kept.id) == before


def test_an_end_whose_answer_was_lost_can_be_written_again(make_journal: Callable[[], Journal]) -> None:
    journal = make_journal()
    kept = journal.begin("replay", SELECTION)
    journal.finish(kept, Counts())
    journal.finish(kept, Counts())
    with pytest.raises(RefusedError):
        journal.store(kept, Position(), Counts())


def test_who_has_a_run_is_found_and_ended_by_what_is_printed(
    make_journal: Callable[[], Journal], database: Database
) -> None:
    ghost, other = make_journal(), make_journal()
    kept = ghost.begin("replay", SELECTION)
    with pytest.raises(RefusedError, match="is being worked on by another process") as refused:
        other.resume(kept.id)
    [(_, _, _, is_ended)] = database.execute(refused.value.remedy.partition("end its session: ")[2])
    assert is_ended is True
    assert other.resume(kept.id).attempt == 2


def test_the_newest_run_that_nobody_works_on_is_the_one_to_go_on_with(make_journal: Callable[[], Journal]) -> None:
    left, busy, looking = make_journal(), make_journal(), make_journal()
    older = left.begin("replay", SELECTION)
    left.close()
    newer = busy.begin("replay", SELECTION)
    found = looking.find_unfinished("replay")
    assert found is not None and (found.id, found.is_busy) == (older.id, False)
    busy.finish(newer, Counts())
    looking.resume(older.id)
    found = make_journal().find_unfinished("replay")
    assert found is not None and (found.id, found.is_busy) == (older.id, True)


@pytest.mark.core
def test_a_session_is_not_kept_for_hours_after_its_host_died(
    make_journal: Callable[[], Journal], database: Database
) -> None:
    """Neither the one that has a run's lock nor one that reads, perhaps in a snapshot that vacuum waits for."""
    settings = "SELECT current_setting('tcp_keepalives_idle'), current_setting('tcp_keepalives_count')"
    assert make_journal()._ask(settings) == [("3", "3")]
    with closing(ShortTransactions(database.dsn())) as session:
        assert session.line.query(settings) == [("3", "3")]
