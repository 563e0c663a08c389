"""What the lot has is known by its identity until the stream has passed it, and not a row longer."""

from __future__ import annotations

import pytest

from cdc_relay.delivery.parked import Parked
from cdc_relay.model import Transaction

TABLE, OTHER = "public.outbox", "public.other"


def transaction(commit_lsn: int, time_us: int = 5) -> Transaction:
    return Transaction(commit_lsn=commit_lsn, commit_time_us=time_us, xid=7)


def make_parked() -> Parked:
    """The newest is the record 2 of the transaction at 20."""
    return Parked(frozenset({(TABLE, 10, 7, 5), (TABLE, 20, 0, 5), (TABLE, 20, 2, 5), (OTHER, 20, 1, 5)}))


def test_an_empty_lot_is_passed_from_the_beginning() -> None:
    assert Parked(frozenset()).is_passed
    assert not make_parked().is_passed


@pytest.mark.parametrize(
    ("outbox", "commit_lsn", "ordinal", "time_us", "is_known"),
    [
        (TABLE, 10, 7, 5, True),
        (TABLE, 20, 0, 5, True),
        (TABLE, 20, 2, 5, True),
        (OTHER, 20, 1, 5, True),
        (OTHER, 20, 0, 5, False),
        (TABLE, 20, 1, 5, False),
        (TABLE, 19, 0, 5, False),
        (TABLE, 20, 0, 6, False),
    ],
)
def test_a_record_is_known_by_all_of_its_identity(
    outbox: str, commit_lsn: int, ordinal: int, time_us: int, is_known: bool
) -> None:
    parked = make_parked()
    assert parked.has(outbox, transaction(commit_lsn, time_us), ordinal) is is_known
    assert not parked.is_passed


@pytest.mark.parametrize(("commit_lsn", "ordinal"), [(20, 3), (21, 0)])
def test_a_record_after_the_newest_shows_that_all_are_passed(commit_lsn: int, ordinal: int) -> None:
    parked = make_parked()
    assert not parked.has(TABLE, transaction(commit_lsn), ordinal)
    assert parked.is_passed


@pytest.mark.parametrize(("commit_lsn", "is_passed"), [(19, False), (20, True), (21, True)])
def test_the_commit_of_the_newest_passes_all(commit_lsn: int, is_passed: bool) -> None:
    parked = make_parked()
    parked.pass_commit(commit_lsn)
    assert parked.is_passed is is_passed


@pytest.mark.parametrize(("lsn", "is_passed"), [(19, False), (20, False), (21, True)])
def test_a_position_passes_what_begins_before_it(lsn: int, is_passed: bool) -> None:
    """A server that is exactly where the newest begins may still send it."""
    parked = make_parked()
    parked.pass_position(lsn)
    assert parked.is_passed is is_passed


def test_what_is_passed_is_kept_no_longer() -> None:
    parked = make_parked()
    parked.pass_commit(20)
    assert not parked.has(TABLE, transaction(20), 0)
