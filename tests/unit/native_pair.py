"""Two intakes that are fed the same frames, one of each twin: what they say, and what they look like afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cdc_relay.delivery.intake import Intake
from cdc_relay.delivery.outcome import Outcome
from cdc_relay.model import Failure, Identity, Ticket, Transaction
from cdc_relay.routing.router import Outbox, Router
from tests.unit.native_rig import NATIVE, PYTHON, Twins

__all__ = ["Pair", "describe", "state_of"]

ANY = 1 << 63  # the guard allows everything
COUNTERS = (
    "reply_is_due",
    "idle_lsn",
    "lag_us",
    "largest_frame_bytes",
    "ignored_count",
    "change_count",
    "dropped_count",
    "transaction_count",
    "has_passed_parked",
)
POSITIONS = ("safe_lsn", "settled_lsn", "ceiling_lsn", "received_lsn", "confirmable_lsn", "in_transaction")
TRANSACTION = ("commit_lsn", "commit_time_us", "xid", "end_lsn", "record_count", "open_count", "run", "run_row")

Told = tuple[object, ...] | None
Frame = bytes | memoryview


class Pair:
    """Whatever is asked of it is asked of both, and they must answer alike."""

    def __init__(self, outboxes: Iterable[Outbox], parked: frozenset[Identity] = frozenset()) -> None:
        outboxes = tuple(outboxes)
        self.python = _make_intake(PYTHON, outboxes, parked)
        self.native = _make_intake(NATIVE or PYTHON, outboxes, parked)
        self.open: list[tuple[Ticket, Ticket]] = []
        self.handed_on_count = 0  # frames that the compiled way left to Python's
        self._watch_lane()

    def take(self, frame: Frame) -> Told:
        return self._both(lambda intake: intake.take(frame))

    def condemn(self, frame: Frame, failure: Failure) -> Told:
        return self._both(lambda intake: intake.condemn(frame, failure))

    def identify(self, frame: Frame) -> Told:
        return self._agree(lambda intake: intake.identify(frame))

    def settle(self, place: int) -> None:
        mine, theirs = self.open.pop(place)
        self._agree(lambda intake: intake.settle(mine if intake is self.python else theirs))

    def settle_all(self, count: int) -> None:
        settled, self.open = self.open[:count], self.open[count:]
        mine, theirs = [first for first, _ in settled], [second for _, second in settled]
        self._agree(lambda intake: intake.settle_all(mine if intake is self.python else theirs))

    def settle_again(self, tickets: tuple[Ticket, Ticket]) -> Told:
        return self._agree(lambda intake: intake.settle(tickets[intake is self.native]))

    def confirm_idle(self) -> None:
        self._agree(lambda intake: intake.confirm_idle(intake.idle_lsn))

    def report(self) -> Told:
        return self._agree(lambda intake: intake.ledger.report())

    def _both(self, act: Callable[[Intake], Outcome | None]) -> Told:
        outcomes: list[Outcome] = []

        def acted(intake: Intake) -> object:
            outcome = act(intake)
            if outcome is not None:
                outcomes.append(outcome)
            return describe(outcome)

        told = self._agree(acted)
        if outcomes:
            [(_, mine), (_, theirs)] = outcomes
            self.open.append((mine, theirs))
        return told

    def _agree(self, act: Callable[[Intake], object]) -> Told:
        told, natively = _attempt(act, self.python), _attempt(act, self.native)
        assert natively == told
        assert state_of(self.native) == state_of(self.python)
        return told

    def _watch_lane(self) -> None:
        """The promise of the compiled way: it has changed nothing when it does not take a frame."""
        if NATIVE is None:
            return
        from cdc_relay.native.lane import Lane

        intake = self.native

        def hand_on(frame: Frame) -> Outcome | None:
            self.handed_on_count += 1
            assert state_of(intake) == before[-1]
            return intake.take_any(frame)

        def take(frame: Frame) -> Outcome | None:
            before[:] = [state_of(intake)]
            return lane.take(frame)

        before: list[object] = []
        lane = Lane(intake, hand_on, plans=intake._plans, parked=intake._parked)
        intake.take = take


def describe(outcome: Outcome | None) -> object:
    """All of it, types included; two transactions are alike if their fields are."""
    if outcome is None:
        return None
    routed, ticket = outcome
    headers = ticket.find_headers()
    ticket = ticket._replace(headers=headers)
    event = [type(ticket), describe_transaction(ticket.transaction), *ticket[3:], ticket.ordinal, ticket.identity]
    return type(routed), routed, event, ticket.origin.label, ticket.origin.event_fields, str(ticket)


def describe_transaction(transaction: Transaction | None) -> object:
    if transaction is None:
        return None
    return [*(getattr(transaction, name) for name in TRANSACTION), str(transaction)]


def state_of(intake: Intake) -> object:
    ledger, window = intake.ledger, intake.window
    return (
        [(name, getattr(intake, name)) for name in COUNTERS],
        [(name, getattr(ledger, name)) for name in POSITIONS],
        describe_transaction(ledger.current),
        describe_transaction(ledger.oldest),
        (window.record_count, window.byte_count, window.is_full),
    )


def _make_intake(twins: Twins, outboxes: tuple[Outbox, ...], parked: frozenset[Identity]) -> Intake:
    window = twins.window(record_limit=20, byte_limit=1000)
    return Intake(Router(outboxes), window, parked, ceiling_lsn=ANY)


def _attempt(act: Callable[[Intake], object], intake: Intake) -> tuple[object, ...]:
    try:
        return ("did", act(intake))
    except AssertionError:
        raise
    except Exception as exc:  # noqa: BLE001  # whatever one raises, the other must
        return ("raised", type(exc), str(exc))
