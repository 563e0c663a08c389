"""The benchmark's peers: that none is left behind, and when one has caught up."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from tests.bench import run as run_module
from tests.bench.hot import HotStage
from tests.bench.measurement import Book
from tests.bench.peers.peer import StreamingPeer
from tests.bench.run import Run
from tests.bench.stage import Stage


class Counting(StreamingPeer):
    """Delivers ten records more at each look, up to a number."""

    publishes = False
    seen = 0
    is_ended = False

    def __init__(self, name: str = "counting", *, last: int = 0) -> None:
        super().__init__()
        self.name = name
        self.last = last

    def open(self, stage: Stage) -> None:
        self._stage = stage

    def close(self) -> None:
        return

    def end(self) -> None:
        self.is_ended = True
        if self.name == "stubborn":
            raise RuntimeError("it does not end")

    def count(self) -> int:
        self.seen = min(self.seen + 10, self.last)
        return self.seen

    def release_process(self) -> None:
        return

    def release_walsender(self) -> None:
        return


def test_a_peer_that_does_not_end_leaves_no_other_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    peers = {name: Counting(name) for name in ("first", "stubborn", "last")}
    monkeypatch.setattr(run_module, "make_peer", peers.__getitem__)
    with pytest.raises(RuntimeError, match="it does not end"), Run(Book(), [], []).make_peers(list(peers)):
        pass
    assert all(peer.is_ended for peer in peers.values())


def test_earlier_duplicates_do_not_make_a_peer_caught_up() -> None:
    hot, peer = HotStage(cast(Stage, SimpleNamespace(written=100))), Counting(last=130)
    hot.surplus[peer.name] = 30
    hot.catch_up(peer)
    assert (peer.seen, hot.surplus[peer.name]) == (130, 30)


def test_duplicates_of_a_catching_up_are_remembered() -> None:
    hot, peer = HotStage(cast(Stage, SimpleNamespace(written=100))), Counting(last=120)
    hot.catch_up(peer)
    assert (peer.seen, hot.surplus[peer.name]) == (120, 20)
