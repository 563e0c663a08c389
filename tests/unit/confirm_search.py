"""Every order in which the actions of a small world can follow each other, breadth first: no state is left out."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from tests.unit.confirm_world import Action, ViolationError, World

__all__ = ["Found", "explore"]

Way = tuple[Action, ...]


@dataclass
class Found:
    state_count: int = 1
    transition_count: int = 0
    longest: int = 0  # actions to the state that is farthest from the beginning


def explore(make_world: Callable[[], World]) -> Found:
    """A world cannot be copied, for its ledger may be compiled: each state is reached again by its actions.

    From every new state everything is brought to its end as well. A violation names the actions that led to it.
    """
    found, start = Found(), make_world()
    seen = {start.key()}
    ahead: deque[tuple[Way, list[Action]]] = deque([((), start.actions())])
    _try(start.finish, ())
    while ahead:
        path, actions = ahead.popleft()
        for action in actions:
            found.transition_count += 1
            world, way = _replay(make_world(), path), (*path, action)
            _try(partial(world.perform, action), way)
            key = world.key()
            if key not in seen:
                seen.add(key)
                ahead.append((way, world.actions()))
                found.state_count, found.longest = found.state_count + 1, len(way)
                _try(world.finish, way)
    return found


def _replay(world: World, path: Way) -> World:
    for action in path:
        world.repeat(action)
    return world


def _try(act: Callable[[], None], way: Way) -> None:
    try:
        act()
    except ViolationError as exc:
        steps = ", ".join(" ".join(map(str, action)) for action in way)
        raise ViolationError(f"{exc}\n  after: {steps or 'nothing'}") from exc
