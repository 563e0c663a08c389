"""The benchmark's check of what was delivered, with faults planted."""

from __future__ import annotations

from collections.abc import Iterable

from tests.bench.check import Delivered, Verdict, number_of

FIRST, COUNT, KEYS = 100, 50, 5
TOPIC = "orders"


def key_of(number: int) -> bytes:
    return b"k%d" % (number % KEYS)


def judge(numbers: Iterable[int]) -> Verdict:
    delivered = Delivered(FIRST, COUNT, KEYS)
    for number in numbers:
        delivered.take(TOPIC, key_of(number), number)
    return delivered.verdict()


WHOLE = list(range(FIRST, FIRST + COUNT))


def test_a_whole_delivery_is_good() -> None:
    assert judge(WHOLE) == Verdict(missing=0, phantoms=0, reordered=0, duplicates=0)
    assert judge(WHOLE).is_good


def test_keys_may_overtake_each_other() -> None:
    assert judge(sorted(WHOLE, key=key_of)).is_good


def test_a_lost_event_fails_the_run() -> None:
    assert judge(WHOLE[:20] + WHOLE[21:]).missing == 1
    assert not judge(WHOLE[:-1]).is_good


def test_an_event_that_was_never_written_fails_the_run() -> None:
    for stranger in (FIRST - 1, FIRST + COUNT, -1):
        assert judge([*WHOLE, stranger]) == Verdict(missing=0, phantoms=1, reordered=0, duplicates=0)


def test_an_event_under_another_key_fails_the_run() -> None:
    delivered = Delivered(FIRST, COUNT, KEYS)
    for number in WHOLE:
        delivered.take(TOPIC, key_of(number) if number != FIRST else b"k4", number)
    assert delivered.verdict() == Verdict(missing=1, phantoms=1, reordered=0, duplicates=0)


def test_a_missing_key_fails_the_run() -> None:
    delivered = Delivered(FIRST, COUNT, KEYS)
    delivered.take(TOPIC, None, FIRST)
    assert not delivered.verdict().is_good


def test_two_events_of_a_key_in_the_wrong_order_fail_the_run() -> None:
    swapped = [*WHOLE]
    swapped[3], swapped[3 + KEYS] = swapped[3 + KEYS], swapped[3]
    assert judge(swapped).reordered == 1


def test_duplicates_are_counted_and_forgiven() -> None:
    again = judge([*WHOLE[:30], *WHOLE[10:]])
    assert again.duplicates == 20
    assert again.is_good


def test_a_repeated_event_does_not_hide_a_lost_one() -> None:
    assert judge([*WHOLE[:20], WHOLE[19], *WHOLE[21:]]).missing == 1


def test_the_number_is_read_out_of_the_payload() -> None:
    assert number_of(b'{"n": 17, "at": 1, "note": "x, y"}') == 17
    assert number_of(b'{"specversion":"1.0","id":"a","data":{"n": 18, "at": 1}}') == 18
    assert number_of(b'{"specversion":"1.0","id":"a","data":{"m": 18, "at": 1}}') == -1
    assert number_of(b'{"order": 17}') == -1
    assert number_of(None) == -1
