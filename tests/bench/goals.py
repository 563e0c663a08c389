"""The goals for speed, and how far a run reached them. Pure: reads a book, measures nothing.

A goal is judged by rounds over whole backlogs, or at the whole rate, and by several of them: a quick look has not
measured it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.bench.measurement import Book, Measurement, median_of
from tests.bench.peers.names import RAW_NAPPING, RELAY, TUNED_DEBEZIUM
from tests.bench.workloads import BAD_BACKLOG_ROWS, DEFAULT, TENANTS, WORKLOADS

__all__ = ["GOALS", "Goal", "Reached"]

Figure = Callable[[Book], float | None]

LEAST_ROUNDS = 3
# By part and workload; the parts that are not here have no backlog.
_FULL_ROWS = {
    **{("hot", workload.name): workload.rows for workload in WORKLOADS},
    ("cold", DEFAULT.name): DEFAULT.rows,
    ("tenants", TENANTS.name): TENANTS.rows,
    ("strict", "strict"): DEFAULT.rows,
    ("bad-rows", "bad-rows"): BAD_BACKLOG_ROWS,
}


@dataclass(frozen=True)
class Goal:
    what: str
    floor: float | None  # None: there is a goal alone
    goal: float
    figure: Figure
    unit: str = "x"
    more_is_better: bool = False

    def reached(self, book: Book) -> Reached | None:
        """None where the book has no such measurement."""
        figure = self.figure(book)
        if figure is None:
            return None
        floor = self.floor is not None and self._holds(figure, self.floor)
        return Reached(figure, floor, self._holds(figure, self.goal))

    def _holds(self, figure: float, limit: float) -> bool:
        return figure >= limit if self.more_is_better else figure <= limit


@dataclass(frozen=True)
class Reached:
    figure: float
    floor: bool
    goal: bool

    def __str__(self) -> str:
        return "goal" if self.goal else "floor" if self.floor else "not reached"


def _ratio(part: str, workload: str, value: str, *, of: str = RELAY, to: str = TUNED_DEBEZIUM) -> Figure:
    def figure(book: Book) -> float | None:
        ours, theirs = _median(book, part, workload, of, value), _median(book, part, workload, to, value)
        return None if ours is None or not theirs else ours / theirs

    return figure


def _plain(part: str, workload: str, value: str, *, of: str = RELAY) -> Figure:
    return lambda book: _median(book, part, workload, of, value)


def _median(book: Book, part: str, workload: str, peer: str, value: str) -> float | None:
    return median_of(entry.values.get(value) for entry in _full_rounds(book, part, workload, peer))


def _full_rounds(book: Book, part: str, workload: str, peer: str) -> list[Measurement]:
    """None at all where there are too few."""
    rows = _FULL_ROWS.get((part, workload), 0)
    rounds = [entry for entry in book.of(part, workload, peer) if entry.counts]
    full = [entry for entry in rounds if entry.values.get("rows", 0) >= rows]
    return full if len(full) >= LEAST_ROUNDS else []


def _peak_rss(book: Book) -> float | None:
    """None unless all of them were drained at their full size: a part of them would flatter."""
    rounds = [_full_rounds(book, "hot", name, RELAY) for name in _LOADS_UP_TO_1_KB]
    return max(entry.values["rss_peak_mb"] for each in rounds for entry in each) if all(rounds) else None


_LOADS_UP_TO_1_KB = ("default", "single", "tiny", "kilobyte", "transaction-10k", "transaction-1m")

GOALS = (
    Goal(
        "drain, 10 rows per transaction, of tuned Debezium",
        1.3,
        1.6,
        _ratio("hot", "default", "events_per_s"),
        more_is_better=True,
    ),
    Goal(
        "the same, of the raw reader that naps",
        None,
        0.9,
        _ratio("hot", "default", "events_per_s", to=RAW_NAPPING),
        more_is_better=True,
    ),
    Goal("drain, 1 row per transaction", 1.1, 1.4, _ratio("hot", "single", "events_per_s"), more_is_better=True),
    Goal(
        "drain of a cold backlog, process start included",
        4,
        5,
        _ratio("cold", "default", "events_per_s"),
        more_is_better=True,
    ),
    Goal("CPU per event, drain: the connector", 0.65, 0.4, _ratio("hot", "default", "connector_us")),
    Goal("CPU per event: connector + Postgres + broker", 0.9, 0.7, _ratio("hot", "default", "all_us")),
    Goal("commit to consumer at 1,000/s: p50", 0.35, 0.2, _ratio("latency", "1000", "p50_ms")),
    Goal("commit to consumer at 1,000/s: p99", 0.7, 0.4, _ratio("latency", "1000", "p99_ms")),
    Goal("commit to consumer at 5,000/s: p99", 0.7, 0.5, _ratio("latency", "5000", "p99_ms")),
    Goal("commit to consumer at half of the maximum rate: p99", 0.7, 0.5, _ratio("latency", "half", "p99_ms")),
    Goal(
        "peak RSS, payloads up to 1 KB, transactions up to 1 M rows",
        100,
        80,
        _peak_rss,
        "MB",
    ),
    Goal("process start to first record", 1.0, 0.6, _plain("start", "default", "first_record_s"), "s"),
    Goal("CPU when idle", 1.0, 0.3, _plain("idle", "default", "cpu_percent"), "%"),
    Goal("CPU at 1,000/s", 0.7, 0.5, _ratio("latency", "1000", "cpu_percent")),
    *(
        Goal(
            f"multi-tenant routes and CloudEvents ({mode}), of the default route",
            0.7,
            0.85,
            _ratio("tenants", "tenants", "events_per_s", of=peer, to="default-route"),
            more_is_better=True,
        )
        for mode, peer in (("binary", "tenant-routes"), ("structured", "tenant-structured"))
    ),
    Goal(
        "strict ordering, of relaxed",
        0.6,
        0.8,
        _ratio("strict", "strict", "events_per_s", of="strict", to="relaxed"),
        more_is_better=True,
    ),
    Goal(
        "1 % bad rows, of none",
        0.7,
        0.9,
        _ratio("bad-rows", "bad-rows", "events_per_s", of="with bad rows", to="without"),
        more_is_better=True,
    ),
)
