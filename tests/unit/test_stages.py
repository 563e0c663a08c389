"""The stages of a sample are timed, and nothing of it changes what becomes of a record."""

from __future__ import annotations

from cdc_relay.counters import Counters, Stage
from cdc_relay.model import Record, Ticket
from cdc_relay.session.stages import Stages
from tests.unit import frames
from tests.unit.intake_rig import ROW, make_intake
from tests.unit.native_rig import NATIVE, PYTHON, needs_native
from tests.unit.session_rig import SessionRig, transaction


class StepClock:
    """Each look takes as long as it is told."""

    def __init__(self, *steps: float) -> None:
        self._steps = iter(steps)
        self._now = 0.0

    def __call__(self) -> float:
        self._now += next(self._steps)
        return self._now


def test_a_row_is_timed_by_stage() -> None:
    counters, offered = Counters(), list[Record]()
    intake = make_intake()
    stages = Stages(intake, lambda record, ticket: offered.append(record), counters, clock=StepClock(0, 5, 7, 0, 3))
    for frame in (frames.begin(99), frames.relation()):
        intake.take(frame)
    assert stages.is_due(10.0)
    outcome = stages.take(frames.insert(*ROW))
    assert outcome is not None
    record, ticket = outcome
    assert isinstance(record, Record)
    stages.offer(record, ticket)
    spent = {stage.value: (time.count, time.seconds) for stage, time in counters.stages.items()}
    assert spent == {"decode": (1, 5.0), "route": (1, 2.0), "produce": (1, 3.0), "confirm": (0, 0.0)}
    assert offered == [record]


@needs_native
def test_compiled_a_row_is_decoded_and_routed_in_one() -> None:
    counters = Counters()
    assert NATIVE is not None
    intake = make_intake(NATIVE)
    stages = Stages(intake, _ignore, counters, clock=StepClock(0, 5))
    for frame in (frames.begin(99), frames.relation()):
        intake.take(frame)
    assert stages.is_due(10.0)
    assert stages.take(frames.insert(*ROW)) is not None
    spent = {stage.value: (time.count, time.seconds) for stage, time in counters.stages.items()}
    assert spent == {"decode": (1, 5.0), "route": (0, 0.0), "produce": (0, 0.0), "confirm": (0, 0.0)}


def test_at_most_ten_rows_a_second_are_timed() -> None:
    intake = make_intake()
    stages = Stages(intake, _ignore, Counters())
    for frame in (frames.begin(99), frames.relation()):
        intake.take(frame)
    assert stages.is_due(9.99)  # nothing came: it is due still
    assert stages.is_due(10.0)
    stages.take(frames.insert(*ROW))
    assert [stages.is_due(now) for now in (10.05, 10.11)] == [False, True]


def test_what_is_no_row_is_only_taken() -> None:
    counters, intake = Counters(), make_intake()
    stages = Stages(intake, lambda record, ticket: None, counters)
    assert stages.is_due(0)
    stages.take(frames.begin(99))
    stages.take(frames.keepalive(100))
    assert intake.ledger.in_transaction
    assert counters.stages[Stage.DECODE].count == 0


def test_a_session_publishes_what_it_times_once() -> None:
    rig = SessionRig(*transaction(100, 1, 2, 3), eager=True, make_window=PYTHON.window)
    rig.run_until(3)
    assert len(rig.sink.published) == 3
    stages = rig.stats.counters.stages
    assert [stages[stage].count for stage in Stage] == [1, 1, 1, 1]


def test_confirm_is_the_time_from_settled_to_confirmed() -> None:
    intake, counters = make_intake(), Counters()
    stages = Stages(intake, _ignore, counters)
    intake.ledger.settled_lsn = 100
    for now, confirmed_lsn in ((1.0, 0), (2.0, 0), (3.5, 100), (9.0, 100)):
        stages.note_confirmation(now, confirmed_lsn)
    confirm = counters.stages[Stage.CONFIRM]
    assert (confirm.count, confirm.seconds) == (1, 2.5)


def _ignore(record: Record, ticket: Ticket) -> None:
    """Nobody to publish to."""
