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


def test_releasing_more_than_was_taken_is_an_error(twins: Twins) -> None:
    window = twins.window(record_limit=10, byte_limit=100)
    window.take(5)
    with pytest.raises(LedgerError):
        window.release(6)
