"""Who follows a batch of acknowledged records of strict keys, compiled where that can be had."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from cdc_relay.delivery.gates import Position, Scope
from cdc_relay.dispatch.traffic import Parcel
from cdc_relay.model import Ticket
from cdc_relay.native import is_native

__all__ = ["find_followers", "find_followers_in_python"]


def find_followers_in_python(
    tickets: list[Ticket], *, out: dict[Position, Scope], lanes: dict[Scope, deque[Parcel]]
) -> tuple[list[Parcel], list[Scope]]:
    """Of each key whose record was out the next one, which is out from now on; and the keys that have none.

    What came from the lot is found again by its claim, so only tickets are written down.
    """
    followers: list[Parcel] = []
    freed: list[Scope] = []
    for ticket in tickets:
        scope = out.pop(ticket.position, None)
        if scope is None:
            continue
        if waiting := lanes.get(scope):
            parcel = waiting.popleft()
            if type(parcel[1]) is Ticket:
                out[parcel[1].position] = scope
            followers.append(parcel)
        else:
            lanes.pop(scope, None)
            freed.append(scope)
    return followers, freed


if TYPE_CHECKING or not is_native:
    find_followers = find_followers_in_python
else:
    from cdc_relay.native.followers import find_followers
