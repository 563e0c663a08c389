"""Who follows acknowledged records of strict keys: both twins find the same, and leave the same behind."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import pytest

from cdc_relay.delivery.gates import Position, Scope
from cdc_relay.delivery.ledger import Ledger
from cdc_relay.dispatch.followers import find_followers_in_python
from cdc_relay.dispatch.traffic import Parcel
from cdc_relay.model import Origin, Policy, Record, Ticket
from cdc_relay.parking.entry import Claim, Purpose, Reason, Status
from tests.unit.native_rig import NATIVE, PYTHON, Twins, needs_native

K, L, M = ("t", b"k"), ("t", b"l"), ("u", b"k")
ORIGIN, POLICY = Origin("public.outbox"), Policy("strict", strict=True)


Find = Callable[..., tuple[list[Parcel], list[Scope]]]


class Lanes(NamedTuple):
    """1 is out for K, 2 and 3 wait; 4 is out for L, a claim waits; 5 is out for M, and nobody waits."""

    tickets: dict[int, Ticket]
    claim: Claim
    out: dict[Position, Scope]
    by_scope: dict[Scope, deque[Parcel]]


def make_lanes(ledger: Ledger) -> Lanes:
    tickets = {number: make_ticket(ledger, number) for number in range(1, 7)}
    claim = Claim(
        *(7, 1, 5, Purpose.PUBLISH, Status.RETRYING, Reason.FAILURE, "public.outbox", 4, 9, 0, "t", 1, []),
        policy=POLICY,
        record=record(L),
    )
    waiting: dict[Scope, list[Parcel]] = {
        K: [(record(K), tickets[2]), (record(K), tickets[3])],
        L: [(record(L), claim)],
        M: [],
    }
    out: dict[Position, Scope] = {tickets[1].position: K, tickets[4].position: L, tickets[5].position: M}
    return Lanes(tickets, claim, out, {scope: deque(parcels) for scope, parcels in waiting.items()})


def make_ticket(ledger: Ledger, number: int) -> Ticket:
    transaction = ledger.begin(commit_lsn=number * 10, commit_time_us=500, xid=number)
    ordinal = ledger.add()
    ledger.commit(number * 10 + 1)
    return Ticket(transaction, ordinal, ORIGIN, 10, (), [], "t", POLICY)


def record(scope: Scope) -> Record:
    return Record(scope[0], scope[1], b"{}", [], 0, 10, POLICY)


TWINS = [pytest.param(PYTHON, id="python"), pytest.param(NATIVE, id="native", marks=needs_native)]


@pytest.fixture(params=TWINS)
def lanes(request: pytest.FixtureRequest) -> Lanes:
    twins: Twins = request.param
    return make_lanes(twins.ledger())


@pytest.fixture(params=["python", pytest.param("native", marks=needs_native)])
def find(request: pytest.FixtureRequest) -> Find:
    if request.param == "python":
        return find_followers_in_python
    from cdc_relay.native.followers import find_followers

    return find_followers


def test_the_next_of_each_key_follows_and_is_out(lanes: Lanes, find: Find) -> None:
    followers, freed = find([lanes.tickets[1], lanes.tickets[5]], out=lanes.out, lanes=lanes.by_scope)
    assert ([slip for _, slip in followers], freed) == ([lanes.tickets[2]], [M])
    assert lanes.out == {lanes.tickets[4].position: L, lanes.tickets[2].position: K}
    assert {scope: len(waiting) for scope, waiting in lanes.by_scope.items()} == {K: 1, L: 1}


def test_a_claim_follows_without_being_found_by_its_position(lanes: Lanes, find: Find) -> None:
    followers, freed = find([lanes.tickets[4]], out=lanes.out, lanes=lanes.by_scope)
    assert ([slip for _, slip in followers], freed) == ([lanes.claim], [])
    assert lanes.claim.position not in lanes.out
    assert lanes.tickets[4].position not in lanes.out


def test_who_was_not_out_moves_nobody(lanes: Lanes, find: Find) -> None:
    assert find([lanes.tickets[6], lanes.tickets[2]], out=lanes.out, lanes=lanes.by_scope) == ([], [])


def test_a_key_whose_lane_was_cleared_is_free(lanes: Lanes, find: Find) -> None:
    del lanes.by_scope[K]
    assert find([lanes.tickets[1]], out=lanes.out, lanes=lanes.by_scope) == ([], [K])
