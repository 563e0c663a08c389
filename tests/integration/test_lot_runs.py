"""What a process learns when it takes the lot over: claims, deaths, suspects, and the outboxes it was for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cdc_relay.errors import RefusedError
from cdc_relay.model import Identity
from cdc_relay.parking.entry import Outcome, Reason
from cdc_relay.parking.postgres_lot import PostgresLot
from tests.fixtures.database import Database
from tests.integration.lots import Ground, due, lsns, make_entry, make_ticket, mark_all

pytestmark = pytest.mark.core

IDENTITY = make_ticket(5).identity
OTHER = make_ticket(6).identity


@pytest.fixture
def ground(database: Database) -> Iterator[Ground]:
    ground = Ground(database)
    yield ground
    ground.close()


@pytest.fixture
def lot(ground: Ground) -> PostgresLot:
    return ground.open()


def start(ground: Ground, confirmed_lsn: int = 100, note: Identity | None = None) -> PostgresLot:
    """A run that took over, and that may have opened a note."""
    lot = ground.open()
    lot.take_over(confirmed_lsn)
    if note is not None:
        lot.open_note(note)
    return lot


def deaths(ground: Ground, confirmed_lsn: int = 100) -> int:
    return ground.open().take_over(confirmed_lsn).deaths


# --- taking over


def test_identities_at_or_above_the_confirmed_position_are_known(lot: PostgresLot) -> None:
    lot.park([make_entry(9), make_entry(10, ordinal=4), make_entry(2**40)])
    identities = lot.take_over(10).identities
    assert identities == {make_ticket(10, ordinal=4).identity, make_ticket(2**40).identity}


def test_identities_are_known_whatever_became_of_the_record(ground: Ground, lot: PostgresLot) -> None:
    lot.park([make_entry(1), make_entry(2)])
    ground.set("status = 'discarded'", "commit_lsn = '0/1'")
    mark_all(lot, due(lot), Outcome.PUBLISHED)
    assert len(lot.take_over(1).identities) == 2


def test_claims_of_an_earlier_run_are_released_uncounted(ground: Ground, lot: PostgresLot) -> None:
    lot.take_over(1)
    lot.park([make_entry(1)])
    due(lot)
    lot.end_run()
    start(ground)
    assert ground.rows("attempts, claimed_at, suspicion") == [(0, None, 0)]


def test_a_run_that_died_leaves_suspicion_on_what_it_had_claimed(ground: Ground, lot: PostgresLot) -> None:
    lot.take_over(1)
    lot.park([make_entry(1), make_entry(2)])
    due(lot, limit=1)
    later = start(ground)
    assert ground.rows("attempts, suspicion") == [(0, 1), (0, 0)]
    assert [claim.suspicion for claim in due(later)] == [1, 0]


def test_a_new_session_of_the_same_process_suspects_nobody(ground: Ground, lot: PostgresLot) -> None:
    lot.take_over(1)
    lot.park([make_entry(1)])
    due(lot)
    inventory = lot.take_over(1)
    assert ground.rows("attempts, claimed_at, suspicion") == [(0, None, 0)]
    assert (inventory.deaths, inventory.suspects) == (0, {})


def test_a_retry_without_a_time_becomes_due_unless_its_topic_wakes_it(ground: Ground, lot: PostgresLot) -> None:
    lot.park([make_entry(1, retry_seconds=None), make_entry(2, reason=Reason.TOPIC_CLOSED)])
    lot.take_over(0)
    assert ground.rows("next_retry_at IS NOT NULL") == [(True,), (False,)]
    assert lsns(due(lot)) == [1]


def test_another_slot_is_not_touched(ground: Ground, lot: PostgresLot) -> None:
    lot.park([make_entry(1)])
    due(lot)
    other = ground.open(slot="other").take_over(0)
    assert other.identities == frozenset()
    assert ground.rows("claimed_at IS NOT NULL") == [(True,)]


# --- deaths


def test_the_first_run_has_no_deaths_behind_it(ground: Ground) -> None:
    assert deaths(ground) == 0


def test_runs_that_die_at_one_position_are_counted(ground: Ground) -> None:
    assert [deaths(ground) for _ in range(4)] == [0, 1, 2, 3]


def test_a_run_that_got_further_starts_the_count_anew(ground: Ground) -> None:
    assert [deaths(ground), deaths(ground), deaths(ground, 101), deaths(ground, 101)] == [0, 1, 0, 1]


def test_an_orderly_end_is_no_death(ground: Ground) -> None:
    deaths(ground)
    start(ground).end_run()
    assert deaths(ground) == 0


def test_taking_over_twice_counts_once(ground: Ground) -> None:
    start(ground)
    lot = ground.open()
    assert [lot.take_over(100).deaths for _ in range(2)] == [1, 1]


# --- the note


def suspects(ground: Ground) -> dict[Identity, int]:
    """As the next run finds them."""
    return ground.open().take_over(100).suspects


def test_who_was_noted_when_a_run_died_is_a_suspect(ground: Ground) -> None:
    for count in (1, 2, 3):
        start(ground, note=IDENTITY)
        assert suspects(ground) == {IDENTITY: count}


def test_a_handful_that_was_noted_when_a_run_died_is_known_by_its_first_record_and_makes_nobody_a_suspect(
    ground: Ground,
) -> None:
    start(ground).open_note(IDENTITY, count=100)
    inventory = ground.open().take_over(100)
    assert (inventory.suspects, inventory.handfuls) == ({}, {IDENTITY: 100})


def test_a_handful_that_is_survived_is_forgotten(ground: Ground) -> None:
    lot = start(ground)
    lot.open_note(IDENTITY, count=100)
    lot.close_note()
    assert ground.open().take_over(100).handfuls == {}


def test_handfuls_are_forgotten_when_they_have_passed_and_suspects_are_not(ground: Ground) -> None:
    start(ground).open_note(IDENTITY, count=100)
    start(ground, note=OTHER)
    start(ground).forget_handfuls()
    inventory = ground.open().take_over(100)
    assert (inventory.suspects, inventory.handfuls) == ({OTHER: 1}, {})


def test_who_was_survived_is_no_suspect(ground: Ground) -> None:
    start(ground, note=IDENTITY).close_note()
    assert suspects(ground) == {}


def test_a_suspect_that_is_survived_is_none_any_more(ground: Ground) -> None:
    start(ground, note=IDENTITY)
    start(ground, note=IDENTITY).close_note()
    assert suspects(ground) == {}


def test_suspects_are_remembered_while_others_are_noted_and_survived(ground: Ground) -> None:
    """Each run begins before the culprit: those in between must not make it forgotten."""
    start(ground, note=IDENTITY)
    lot = start(ground, note=OTHER)
    lot.close_note()
    lot.open_note(IDENTITY)
    assert suspects(ground) == {IDENTITY: 2}


def test_a_note_opened_again_by_the_same_process_counts_no_death(ground: Ground) -> None:
    lot = start(ground, note=IDENTITY)
    lot.take_over(100)
    lot.open_note(IDENTITY)
    assert suspects(ground) == {IDENTITY: 1}


def test_taking_over_twice_makes_nobody_more_of_a_suspect(ground: Ground) -> None:
    start(ground, note=IDENTITY)
    lot = ground.open()
    assert [lot.take_over(100).suspects for _ in range(2)] == [{IDENTITY: 1}, {IDENTITY: 1}]


def test_an_orderly_end_in_the_middle_neither_counts_nor_clears(ground: Ground) -> None:
    start(ground, note=IDENTITY)
    start(ground, note=IDENTITY).end_run()
    assert suspects(ground) == {IDENTITY: 1}


def test_dying_before_the_note_is_opened_again_is_no_death_of_the_record(ground: Ground) -> None:
    start(ground, note=IDENTITY)
    start(ground)
    assert suspects(ground) == {IDENTITY: 1}


def test_a_run_that_was_replaced_writes_down_nothing_any_more(ground: Ground) -> None:
    replaced = start(ground)
    start(ground, note=IDENTITY)
    replaced.close_note()
    replaced.end_run()
    assert suspects(ground) == {IDENTITY: 1}


def test_an_end_or_a_note_of_a_run_that_was_taken_over_touches_nothing(ground: Ground) -> None:
    standby, reader = ground.open(), start(ground, note=IDENTITY)
    standby.end_run()
    standby.close_note()
    assert suspects(ground) == {IDENTITY: 1}
    reader.end_run()  # taken over since
    assert deaths(ground) == 2


# --- the outboxes that it reads


def read(ground: Ground, *outboxes: str, confirmed_lsn: int = 5) -> PostgresLot:
    """A run that reads these."""
    lot = ground.open(outboxes=outboxes)
    lot.take_over(confirmed_lsn)
    return lot


@pytest.mark.parametrize("outboxes", [("b",), ("a", "b", "c"), ("b", "c")], ids=["one less", "one more", "another"])
def test_other_outboxes_are_refused_while_parked_rows_may_come_again(ground: Ground, outboxes: tuple[str, ...]) -> None:
    """They number the rows of a transaction: a parked row would be mistaken for another, and that one be lost."""
    read(ground, "a", "b").park([make_entry(5)])
    with pytest.raises(RefusedError, match="outboxes changed from a, b to") as raised:
        read(ground, *outboxes)
    assert "0/5" in raised.value.remedy


def test_a_refused_run_leaves_no_trace(ground: Ground) -> None:
    read(ground, "a", "b").park([make_entry(5)])
    for _ in range(2):
        with pytest.raises(RefusedError):
            read(ground, "b")
    assert read(ground, "a", "b").take_over(5).deaths == 1


def test_other_outboxes_are_fine_when_no_parked_row_comes_again(ground: Ground) -> None:
    read(ground, "a", "b").park([make_entry(5)])
    read(ground, "b", confirmed_lsn=6)


def test_the_same_outboxes_in_another_order_are_the_same(ground: Ground) -> None:
    read(ground, "a", "b").park([make_entry(5)])
    assert len(read(ground, "b", "a").take_over(5).identities) == 1
