"""All of the dispatch together, as one session uses it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any

from cdc_relay.delivery.intake import Intake
from cdc_relay.delivery.outcome import Outcome
from cdc_relay.dispatch.caution import Caution, Notebook, Quarantine
from cdc_relay.dispatch.entrance import Entrance
from cdc_relay.dispatch.feed import Feed
from cdc_relay.dispatch.outages import Outages
from cdc_relay.dispatch.publisher import Publisher, RouteAgain
from cdc_relay.model import Record, Transaction
from cdc_relay.parking.entry import Inventory
from cdc_relay.parking.lot import Lot
from cdc_relay.sinks.sink import Sink, TopicLimits
from cdc_relay.stats import Stats

__all__ = ["Dispatch", "DispatchOptions"]

Submit = Callable[[Callable[[], Any]], Future[Any]]  # to the helper


@dataclass(frozen=True, slots=True)
class DispatchOptions:
    partial_outage_seconds: float = 30.0
    copies_dead: bool = False


class Dispatch:
    def __init__(
        self,
        intake: Intake,
        sink: Sink,
        lot: Lot,
        *,
        submit: Submit,
        inventory: Inventory,
        route_again: RouteAgain,
        stats: Stats,
        options: DispatchOptions,
        now: float,
    ) -> None:
        self._intake = intake
        self._stats = stats
        self._oldest: Transaction | None = None
        self._sink = sink
        self._submit = submit
        self._limits: Future[dict[str, TopicLimits]] | None = None
        self._build_outlets(lot, route_again)
        self._build_caution(lot, inventory)
        self._build_returns(lot, options)
        self._connect()
        self._adopt(inventory, now)
        self.publisher.learn(sink.fixed_limits)

    def _build_outlets(self, lot: Lot, route_again: RouteAgain) -> None:
        """To the sink, and into the lot."""
        submit, intake, stats = self._submit, self._intake, self._stats
        self.entrance = Entrance(intake, park=lambda entries: submit(partial(lot.park, entries)), stats=stats)
        self.publisher = Publisher(
            intake,
            self._sink,
            self.entrance,
            mark=lambda marks: submit(partial(lot.mark, marks)),
            route_again=route_again,
            stats=stats,
        )

    def _build_caution(self, lot: Lot, inventory: Inventory) -> None:
        submit, publisher = self._submit, self.publisher
        notebook = Notebook(
            inventory.suspects,
            open_note=lambda identity: submit(partial(lot.open_note, identity)),
            close_note=lambda: submit(lot.close_note),
        )
        self.caution = Caution(inventory, notebook, budget=self._intake.window.record_limit)
        self._quarantine = Quarantine(notebook, offer=publisher.offer_claim, condemn=publisher.condemn)

    def _build_returns(self, lot: Lot, options: DispatchOptions) -> None:
        """Back from the lot, and back from an outage."""
        self.feed = Feed(
            self.publisher,
            self.entrance,
            self._quarantine,
            self._intake,
            lot=lot,
            submit=self._submit,
            stats=self._stats,
            copies_dead=options.copies_dead,
        )
        self.outages = Outages(
            self.publisher,
            self.entrance,
            probe=lambda topic: self._submit(partial(self._sink.probe_topic, topic)),
            drain=self.feed.drain,
            patience_seconds=options.partial_outage_seconds,
        )

    def _connect(self) -> None:
        """Each tells the others what concerns them."""
        self.feed.outages = self.outages
        self.publisher.close_topic = self.outages.close
        self.publisher.on_lane_free = self.feed.follow
        self.publisher.on_marked = self.feed.on_marked
        self.entrance.on_due = self.feed.expect

    def _adopt(self, inventory: Inventory, now: float) -> None:
        self.publisher.now = self.entrance.now = self.outages.oldest_since = now
        self.outages.adopt(inventory.survey.waiting_topics, now)
        self.feed.adopt(inventory.survey, now)

    @property
    def is_paused(self) -> bool:
        """Nothing new may be read for a moment."""
        return self.outages.is_emptying or self.feed.is_finishing

    @property
    def is_waiting_for_broker(self) -> bool:
        return bool(self.publisher.out)

    @property
    def settled_at(self) -> float:
        """When something was last acknowledged or parked."""
        return max(self.publisher.delivered_at, self.entrance.parked_at)

    @property
    def due_at(self) -> float | None:
        return self.feed.due_at

    @property
    def trouble(self) -> str:
        """Why the lot cannot be written or read now."""
        return self.entrance.parks.trouble or self.publisher.marks.trouble or self.feed.trouble

    @property
    def is_idle(self) -> bool:
        return self.publisher.is_idle

    @property
    def unwritten_count(self) -> int:
        """Published from the lot and not yet written down so: they would be published again."""
        return self.publisher.marks.unwritten_count

    @property
    def _has_room(self) -> bool:
        """A window that is full of records on their way into the lot must not keep the lot from getting emptier."""
        return not self._intake.window.is_full or not self.publisher.out

    def hand_over(self, outcome: Outcome) -> None:
        """What was read; a loop that reads many takes the publisher's way itself."""
        routed, ticket = outcome
        if isinstance(routed, Record):
            self.publisher.offer(routed, ticket)
        else:
            self.entrance.set_aside(routed, ticket)

    def tend(self, now: float, *, may_claim: bool) -> None:
        """Once a turn, after the reports."""
        self._watch_oldest(now)
        self.feed.look()
        # In both cases nothing is read meanwhile, so that is a window's worth at most.
        self.entrance.insists = self.feed.is_finishing or self.caution.is_on
        self.entrance.tend(now)
        self.publisher.tend(now)
        self.outages.tend(now)
        self.feed.tend(now, may_claim=may_claim and not self.caution.is_on and self._has_room)
        self._quarantine.tend(now)
        self._tend_limits()
        self._stats.closed_topics = tuple(self.outages.closed)

    def _tend_limits(self) -> None:
        """What new topics refuse, before they do: a refused batch makes the whole producer pause."""
        publisher = self.publisher
        if self._limits is None and publisher.new_topics:
            topics, publisher.new_topics = publisher.new_topics, []
            self._limits = self._submit(partial(self._sink.read_limits, topics))
        elif self._limits is not None and self._limits.done():
            future, self._limits = self._limits, None
            publisher.learn(future.result())

    def _watch_oldest(self, now: float) -> None:
        oldest = self._intake.ledger.oldest
        if oldest is not self._oldest or oldest is None:
            self._oldest, self.outages.oldest_since = oldest, now
