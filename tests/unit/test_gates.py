"""Strict order per key, in memory: lanes with one out at a time, gates that are shut."""

from __future__ import annotations

from cdc_relay.delivery.gates import Gates, Lanes

K, L, OTHER = ("t", b"k"), ("t", b"l"), ("u", b"k")


def make_lanes() -> Lanes[int]:
    """1 is out for K, 2 and 3 wait; 4 is out for L; 5 is out for another topic, 6 waits."""
    lanes: Lanes[int] = Lanes()
    for scope, item in ((K, 1), (K, 2), (K, 3), (L, 4), (OTHER, 5), (OTHER, 6)):
        lanes.enter(scope, item)
    return lanes


def test_the_first_of_a_key_goes_and_the_others_wait() -> None:
    lanes: Lanes[int] = Lanes()
    assert [lanes.enter(K, 1), lanes.enter(K, 2), lanes.enter(L, 3)] == [True, False, True]
    assert (lanes.enter(K, 3, limit=1), lanes.waiting_count) == (None, 1)


def test_the_next_of_a_key_follows_in_order_and_the_last_frees_the_lane() -> None:
    lanes = make_lanes()
    assert [lanes.advance(K) for _ in range(3)] == [2, 3, None]
    assert K not in lanes
    assert lanes.waiting_count == 1
    assert lanes.enter(K, 7)


def test_a_lane_that_nobody_is_in_has_nobody_to_advance() -> None:
    assert Lanes[int]().advance(K) is None


def test_clearing_a_lane_gives_all_that_waited_in_order() -> None:
    lanes = make_lanes()
    assert lanes.clear(K) == [2, 3]
    assert K not in lanes
    assert (lanes.clear(K), lanes.waiting_count) == ([], 1)


def test_clearing_all_lanes_gives_all_that_waited() -> None:
    lanes = make_lanes()
    assert lanes.clear_all() == [2, 3, 6]
    assert not lanes
    assert lanes.waiting_count == 0


def test_clearing_all_lanes_forgets_who_was_out() -> None:
    lanes = make_lanes()
    lanes.out[7, 0] = K
    lanes.clear_all()
    assert lanes.out == {}


def test_lanes_begin_with_nobody() -> None:
    lanes: Lanes[int] = Lanes()
    assert (lanes.by_scope, lanes.out, lanes.waiting_count) == ({}, {}, 0)


def test_a_limit_is_how_many_may_wait() -> None:
    lanes: Lanes[int] = Lanes()
    assert [lanes.enter(K, item, limit=2) for item in range(4)] == [True, False, False, None]
    assert (lanes.waiting_count, lanes.clear(K)) == (2, [1, 2])


def test_without_a_place_to_wait_only_the_first_goes() -> None:
    lanes: Lanes[int] = Lanes()
    assert [lanes.enter(K, item, limit=0) for item in range(2)] == [True, None]


def test_withdrawing_a_topic_leaves_what_is_out() -> None:
    lanes = make_lanes()
    assert lanes.withdraw("t") == [2, 3]
    assert K in lanes
    assert L in lanes
    assert (lanes.waiting_count, lanes.advance(OTHER)) == (1, 6)


def test_whoever_was_withdrawn_is_handed_out_by_no_lane() -> None:
    lanes = make_lanes()
    lanes.withdraw("t")
    assert (lanes.advance(K), lanes.waiting_count) == (None, 1)


def test_lanes_without_anybody_out_are_false() -> None:
    lanes: Lanes[int] = Lanes()
    assert not lanes
    lanes.enter(K, 1)
    assert lanes


def test_a_gate_is_shut_with_nobody_in_it() -> None:
    gate = Gates().shut(K)
    assert (gate.entered, gate.entering, gate.is_finishing, gate.claim_after) == (0, 0, False, 0)


def test_whoever_enters_a_gate_is_counted() -> None:
    gate = Gates().shut(K)
    gate.enter()
    gate.entering -= 1
    gate.enter()
    assert (gate.entered, gate.entering) == (2, 1)


def test_shutting_a_gate_twice_is_the_same_gate() -> None:
    gates = Gates()
    gate = gates.shut(K)
    gate.enter()
    assert gates.shut(K) is gate
    assert (gate.entering, gate.entered, len(list(gates))) == (1, 1, 1)


def test_a_gate_is_of_one_topic_and_one_key() -> None:
    gates = Gates()
    gates.shut(K)
    assert [scope in gates for scope in (K, L, OTHER)] == [True, False, False]


def test_opening_a_gate_that_is_open_is_nothing() -> None:
    gates = Gates()
    gates.shut(K)
    gates.open(K)
    gates.open(K)
    assert (list(gates), gates.get(K)) == ([], None)


def test_gates_may_be_shut_and_opened_while_they_are_walked() -> None:
    gates = Gates()
    gates.shut(K)
    gates.shut(L)
    for scope in gates:
        gates.open(scope)
    assert len(list(gates)) == 0
