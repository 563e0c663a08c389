"""Strict order per key: one record of a key is out at a time, and a key whose record failed is shut. Pure.

A lane is a key with a record out; what comes after it waits there, in memory. A gate is a key that is shut: what comes
goes into the lot, behind the record that failed, until the lot has none of the key any more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

__all__ = ["Gate", "Gates", "Lanes", "Position", "Scope"]

T = TypeVar("T")
Scope = tuple[str, bytes | None]  # topic and key
Position = tuple[int, int]  # of a record in the stream


class Lanes(Generic[T]):
    """Keys with something out, and what waits for it."""

    __slots__ = ("by_scope", "out", "waiting_count")

    def __init__(self) -> None:
        self.by_scope: dict[Scope, deque[T]] = {}
        self.out: dict[Position, Scope] = {}  # whose turn it is, as far as the owner wants to find its key by it
        self.waiting_count = 0

    def __bool__(self) -> bool:
        return bool(self.by_scope)

    def __contains__(self, scope: Scope) -> bool:
        return scope in self.by_scope

    def enter(self, scope: Scope, item: T, limit: int | None = None) -> bool | None:
        """True: the way is free, hand it out. False: it waits here for its turn. None: so many wait here already."""
        waiting = self.by_scope.get(scope)
        if waiting is None:
            self.by_scope[scope] = deque()
            return True
        if limit is not None and len(waiting) >= limit:
            return None
        waiting.append(item)
        self.waiting_count += 1
        return False

    def advance(self, scope: Scope) -> T | None:
        """What was out is settled: the next one, which is out from now on."""
        waiting = self.by_scope.get(scope)
        if waiting is None:
            return None
        if not waiting:
            del self.by_scope[scope]
            return None
        self.waiting_count -= 1
        return waiting.popleft()

    def clear(self, scope: Scope) -> list[T]:
        """What was out failed: all that waited for it, in order."""
        waiting = self.by_scope.pop(scope, None)
        if waiting is None:
            return []
        self.waiting_count -= len(waiting)
        return list(waiting)

    def clear_all(self) -> list[T]:
        """All that waited, whatever became of what was out."""
        waiting = [item for lane in self.by_scope.values() for item in lane]
        self.by_scope.clear()
        self.out.clear()
        self.waiting_count = 0
        return waiting

    def withdraw(self, topic: str) -> list[T]:
        """All that waits for this topic; what is out stays out."""
        found: list[T] = []
        for scope, waiting in self.by_scope.items():
            if scope[0] == topic:
                found += waiting
                waiting.clear()
        self.waiting_count -= len(found)
        return found


class Gate:
    """A door that is shut: who comes now goes into the lot, and it opens when the lot is known to be empty.

    `entering` are on their way into the lot. While the lot is asked whether it is empty, `is_finishing` keeps the loop
    from reading, so that the answer stays true until the door is open. `claim_after`: how much must have been written
    into the lot before anything is taken out by this door, because something older than what is there is on its way.
    """

    __slots__ = ("claim_after", "entered", "entering", "is_finishing")

    def __init__(self) -> None:
        self.entered = 0  # all that were sent into the lot
        self.entering = 0
        self.is_finishing = False
        self.claim_after = 0

    def enter(self) -> None:
        self.entered += 1
        self.entering += 1


class Gates(dict[Scope, Gate]):
    """The shut keys. A dict, because each strict record asks whether its key is one of them."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Scope]:
        return iter(list(super().__iter__()))  # they are opened on the way

    def shut(self, scope: Scope) -> Gate:
        return self.setdefault(scope, Gate())

    def open(self, scope: Scope) -> None:
        self.pop(scope, None)
