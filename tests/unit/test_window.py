from __future__ import annotations

import pytest

from cdc_relay.errors import LedgerError
from tests.unit.native_rig import Twins


def test_the_window_is_full_at_either_limit(twins: Twins) -> None:
    window = twins.window(record_limit=2, byte_limit=100)
    window.take(1)
    assert not window.is_full
    window.take(1)
    assert window.is_full
    window.release(1)
    window.take(99)
    assert window.is_full


def test_a_record_larger_than_the_window_passes_alone(twins: Twins) -> None:
    window = twins.window(record_limit=10, byte_limit=100)
    assert not window.is_full
    window.take(1_000_000)
    assert window.is_full
    window.release(1_000_000)
    assert not window.is_full


def test_a_window_counts_what_is_open_and_starts_empty(twins: Twins) -> None:
    window = twins.window(record_limit=10, byte_limit=100)
    assert (window.record_limit, window.byte_limit, window.record_count, window.byte_count) == (10, 100, 0, 0)
    window.take(5)
    window.take(0)
    window.take(7)
    window.release(5)
    assert (window.record_count, window.byte_count) == (2, 7)


@pytest.mark.parametrize(("record_count", "size_bytes", "is_full"), [(2, 49, False), (2, 50, True), (3, 1, True)])
def test_the_window_is_full_exactly_at_its_limits(
    record_count: int, size_bytes: int, is_full: bool, twins: Twins
) -> None:
    window = twins.window(record_limit=3, byte_limit=100)
    for _ in range(record_count):
        window.take(size_bytes)
    assert window.is_full is is_full


def test_releasing_more_bytes_than_were_taken_is_an_error(twins: Twins) -> None:
    window = twins.window(record_limit=10, byte_limit=100)
    window.take(5)
    with pytest.raises(LedgerError, match=r"^more was released from the window than was taken$"):
        window.release(6)


def test_releasing_more_records_than_were_taken_is_an_error(twins: Twins) -> None:
    window = twins.window(record_limit=10, byte_limit=100)
    window.take(5)
    window.release(2)
    with pytest.raises(LedgerError):
        window.release(2)
