"""All of the dispatch together, as one session uses it."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial

from cdc_relay.delivery.gates import Lanes
from cdc_relay.delivery.open_work import OpenWork
from cdc_relay.delivery.outcome import Outcome
from cdc_relay.dispatch.caution import Caution, Notebook, Quarantine
from cdc_relay.dispatch.claims import Claims
from cdc_relay.dispatch.culprits import Culprits
from cdc_relay.dispatch.detours import Detours
from cdc_relay.dispatch.entrance import Entrance
from cdc_relay.dispatch.exit import Exit
from cdc_relay.dispatch.feed import Feed
from cdc_relay.dispatch.outages import Outages
from cdc_relay.dispatch.publisher import Publisher
from cdc_relay.dispatch.record_lines import tell_marked, tell_parked
from cdc_relay.dispatch.republisher import Republisher, RouteAgain
from cdc_relay.dispatch.returns import Returns
from cdc_relay.dispatch.strict_keys import StrictKeys
from cdc_relay.dispatch.telling_returns import TellingReturns
from cdc_relay.dispatch.telling_traffic import TellingTraffic
from cdc_relay.dispatch.track import Submit
from cdc_relay.dispatch.traffic import Parcel, Traffic
from cdc_relay.dispatch.verdicts import Verdicts
from cdc_relay.model import Failure, Record
from cdc_relay.parking.entry import Inventory, Mark
from cdc_relay.parking.lot import Lot
from cdc_relay.sinks.sink import Sink, TopicLimits
from cdc_relay.stats import Stats

__all__ = ["Dispatch", "DispatchOptions"]


@dataclass(frozen=True, slots=True)
class DispatchOptions:
    partial_outage_seconds: float = 30.0
    copies_dead: bool = False
    tells_records: bool = False  # lines of the log for each record: decided once, for they cost more than the record


class Dispatch:
    def __init__(
        self,
        intake: OpenWork,
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
        self._oldest: object | None = None
        self._sink = sink
        self._submit = submit
        self._limits: Future[dict[str, TopicLimits]] | None = None
        self._build_outlets(lot, TellingTraffic if options.tells_records else Traffic)
        self._build_ways(route_again, TellingReturns if options.tells_records else Returns)
        self._build_caution(lot, inventory)
        self._build_tracks(lot, options)
        self._connect()
        self._adopt(inventory, now)
        self.traffic.learn(sink.fixed_limits)

    def _build_outlets(self, lot: Lot, traffic: type[Traffic]) -> None:
        """To the sink, into the lot, and what knows of the ways between them."""
        submit, intake, stats = self._submit, self._intake, self._stats
        self._culprits = Culprits()
        self.traffic = traffic(self._sink, self._culprits)
        self.lanes: Lanes[Parcel] = Lanes()
        self.entrance = Entrance(intake, park=lambda entries: submit(partial(lot.park, entries)), stats=stats)
        self.claims = Claims(intake.window, mark=lambda marks: submit(partial(lot.mark, marks)), stats=stats)
        self._detours = Detours(
            self.entrance, self.traffic, claims=self.claims, culprits=self._culprits, lanes=self.lanes
        )
        self._keys = StrictKeys(
            self.lanes, self.entrance, traffic=self.traffic, claims=self.claims, detours=self._detours
        )

    def _build_ways(self, route_again: RouteAgain, returns: type[Returns]) -> None:
        """Out to the sink and back."""
        traffic, claims, culprits = self.traffic, self.claims, self._culprits
        detours, keys = self._detours, self._keys
        self.publisher = Publisher(self.entrance, traffic, culprits=culprits, detours=detours, keys=keys)
        self._verdicts = Verdicts(self.entrance, traffic, claims=claims, culprits=culprits, detours=detours, keys=keys)
        self._republisher = Republisher(
            traffic, claims, detours=detours, keys=keys, verdicts=self._verdicts, route_again=route_again
        )
        self.returns = returns(
            self._intake,
            traffic,
            claims=claims,
            culprits=culprits,
            detours=detours,
            keys=keys,
            verdicts=self._verdicts,
            stats=self._stats,
        )

    def _build_caution(self, lot: Lot, inventory: Inventory) -> None:
        submit, republisher = self._submit, self._republisher
        notebook = Notebook(
            inventory.suspects,
            inventory.handfuls,
            open_note=lambda identity, count: submit(partial(lot.open_note, identity, count=count)),
            close_note=lambda: submit(lot.close_note),
            forget_handfuls=lambda: submit(lot.forget_handfuls),
        )
        self.caution = Caution(inventory, notebook, budget=self._intake.window.record_limit)
        self._quarantine = Quarantine(notebook, offer=republisher.offer, condemn=republisher.condemn)
        self.exit = Exit(republisher, self._quarantine)

    def _build_tracks(self, lot: Lot, options: DispatchOptions) -> None:
        """Back from an outage, and back from the lot."""
        self.outages = Outages(
            self.traffic,
            self._detours,
            self.entrance,
            take_back=self.returns.take_back,
            probe=lambda topic: self._submit(partial(self._sink.probe_topic, topic)),
            patience_seconds=options.partial_outage_seconds,
        )
        self.feed = Feed(
            self.entrance,
            self.exit,
            self._intake,
            outages=self.outages,
            traffic=self.traffic,
            lanes=self.lanes,
            lot=lot,
            submit=self._submit,
            stats=self._stats,
            copies_dead=options.copies_dead,
        )

    def _connect(self) -> None:
        """Each tells the others what concerns them."""
        self.outages.on_well = self.feed.drain
        self.outages.on_closed = self._note_closed
        self._verdicts.close_topic = self.outages.close
        self._keys.on_lane_free = self.feed.follow
        self.claims.on_marked = self._on_marked
        self.entrance.on_due = self.feed.expect
        self.entrance.on_parked = tell_parked

    def _note_closed(self, topic: str, failure: Failure) -> None:
        self._stats.note(f"topic {topic} is closed: {failure.code}: {failure.reason}")

    def _on_marked(self, mark: Mark) -> None:
        tell_marked(mark)
        self._keys.on_marked(mark)
        self.feed.on_marked(mark)

    def _adopt(self, inventory: Inventory, now: float) -> None:
        self.traffic.now = self.entrance.now = self.outages.oldest_since = now
        self.outages.adopt(inventory.survey.waiting_topics, now)
        self.feed.adopt(inventory.survey, now)

    @property
    def is_paused(self) -> bool:
        """Nothing new may be read for a moment."""
        return self.outages.is_emptying or self.feed.is_finishing

    @property
    def is_waiting_for_broker(self) -> bool:
        return bool(self.traffic.out)

    @property
    def settled_at(self) -> float:
        """When something was last acknowledged or parked."""
        return max(self.traffic.delivered_at, self.entrance.parked_at)

    @property
    def due_at(self) -> float | None:
        return self.feed.due_at

    @property
    def trouble(self) -> str:
        """Why the lot cannot be written or read now."""
        return self.entrance.parks.trouble or self.claims.marks.trouble or self.feed.trouble

    @property
    def is_idle(self) -> bool:
        """Nothing is on its way to or from the lot."""
        return self.entrance.parks.is_idle and self.claims.is_idle

    @property
    def unwritten_count(self) -> int:
        """Published from the lot and not yet written down so: they would be published again."""
        return self.claims.marks.unwritten_count

    @property
    def _has_room(self) -> bool:
        """A window that is full of records on their way into the lot must not keep the lot from getting emptier."""
        return not self._intake.window.is_full or not self.traffic.out

    def hand_over(self, outcome: Outcome) -> None:
        """What was read; a loop that reads many takes the publisher's way itself."""
        routed, ticket = outcome
        if isinstance(routed, Record):
            self.publisher.offer(routed, ticket)
        else:
            self.entrance.set_aside(routed, ticket)

    def tend(self, now: float, *, may_claim: bool, is_behind: bool = False) -> None:
        """Once a turn, after the reports."""
        self._watch_oldest(now)
        self.feed.look()
        # In both cases nothing is read meanwhile, so that is a window's worth at most.
        self.entrance.insists = self.feed.is_finishing or self.caution.is_on
        self.entrance.tend(now, may_gather=is_behind and not self._intake.window.is_full)
        self.traffic.now = now
        self._detours.tend(now)
        self.claims.marks.tend(now)
        self.outages.tend(now)
        self.feed.tend(now, may_claim=may_claim and not self.caution.is_on and self._has_room)
        self._quarantine.tend(now)
        self._tend_limits()
        self._stats.closed_topics = self.outages.closures

    def _tend_limits(self) -> None:
        """What new topics refuse, before they do: a refused batch makes the whole producer pause."""
        traffic = self.traffic
        if self._limits is None and traffic.new_topics:
            topics, traffic.new_topics = traffic.new_topics, []
            self._limits = self._submit(partial(self._sink.read_limits, topics))
        elif self._limits is not None and self._limits.done():
            future, self._limits = self._limits, None
            traffic.learn(future.result())

    def _watch_oldest(self, now: float) -> None:
        oldest = self._intake.oldest
        if oldest is not self._oldest or oldest is None:
            self._oldest, self.outages.oldest_since = oldest, now
