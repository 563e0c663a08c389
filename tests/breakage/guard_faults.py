"""Faults of the slot guard: what is confirmed before it is written down, and what nobody compares."""

from __future__ import annotations

from tests.breakage.fault import Fault
from tests.breakage.places import LEDGER

__all__ = ["GUARD_FAULTS"]

GUARD = "cdc_relay/sources/guard.py"
SLOT_GUARD = "cdc_relay/sources/slot_guard.py"
UNIT_GUARD = "tests/unit/test_guard.py::"
UNIT_CEILING = "tests/unit/test_ceiling.py::"
ON_SERVERS = "tests/integration/test_guard.py::"
REFUSED = f"{ON_SERVERS}test_a_slot_that_is_not_as_it_was_left_is_refused_and_the_printed_steps_close_the_gap"
CEILING_ON_SERVERS = "tests/integration/test_guard_ceiling.py::"

GUARD_FAULTS = (
    # --- 17: a slot that is not where it was left is refused
    Fault(
        promise=17,
        title="the slot is confirmed before the guard has written it down",
        file=LEDGER,
        old="        return min(self.safe_lsn, self.ceiling_lsn)",
        new="        return self.safe_lsn",
        tests=(
            f"{UNIT_CEILING}test_nothing_is_reported_above_the_ceiling_before_it_is_written_down",
            f"{CEILING_ON_SERVERS}test_the_slot_never_passes_the_ceiling_while_the_guard_cannot_be_written",
        ),
    ),
    Fault(
        promise=17,
        title="a slot above the ceiling is taken as it is",
        file=GUARD,
        old="    elif slot.confirmed_lsn > guard.ceiling_lsn and not",
        new="    elif slot.confirmed_lsn > guard.ceiling_lsn + 1_000_000 and not",
        tests=(
            f"{UNIT_GUARD}test_a_synchronized_slot_may_be_ahead_of_the_guard_after_a_failover_and_only_then",
            f"{REFUSED}[a clean stop-recreated]",
            f"{REFUSED}[kill -9-recreated]",
            f"{REFUSED}[kill -9-advanced]",
        ),
    ),
    Fault(
        promise=17,
        title="a restart forgets that the publication changed",
        file=GUARD,
        old='    return old["publication"] == new["publication"] and all(',
        new="    return True or all(",
        tests=(
            f"{UNIT_GUARD}test_another_publication_of_the_file_is_a_change_too",
            f"{REFUSED}[a clean stop-publication changed]",
        ),
    ),
    Fault(
        promise=17,
        title="an accepted gap is written down nowhere",
        file=SLOT_GUARD,
        old="        self._table.accept(line, said, problem.gap, seen, ceiling_lsn=confirmed_lsn)\n",
        new="        self._table.begin_anew(line, seen, ceiling_lsn=confirmed_lsn)\n",
        tests=(f"{ON_SERVERS}test_an_accepted_gap_is_written_down_once[a clean stop]",),
    ),
)
