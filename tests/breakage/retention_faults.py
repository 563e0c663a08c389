"""Promise 18: retention removes nothing that is not surely settled."""

from __future__ import annotations

from tests.breakage.fault import Fault

__all__ = ["RETENTION_FAULTS"]

PROOF = "cdc_relay/admin/retention/proof.py"
ROWS = "tests/integration/test_retention_rows.py::"
DOUBTS = "tests/integration/test_retention_doubts.py::"
MONTHS = "tests/integration/test_retention_partitions.py::"

RETENTION_FAULTS = (
    Fault(
        promise=18,
        title="a row goes by its time alone, settled or not",
        file="cdc_relay/admin/retention/rows.py",
        old='    return f"age(xmin) BETWEEN 0 AND age({parameter}::xid)"',
        new='    return f"age(xmin) < 0 AND age({parameter}::xid) < 0"',
        tests=(
            "tests/integration/test_retention_relay.py::test_an_unconfirmed_row_is_never_removed",
            f"{ROWS}test_old_rows_go_and_young_and_unsettled_ones_stay",
            f"{MONTHS}test_a_month_with_a_row_that_is_not_settled_stays",
        ),
    ),
    Fault(
        promise=18,
        title="rows go while the slot lags for longer than they stay",
        file=PROOF,
        old="    if server.mark.at - at >= timedelta(seconds=keep_seconds):",
        new="    if server.mark.at < at:",
        tests=(
            f"{DOUBTS}test_a_lag_as_long_as_the_time_to_stay_keeps_all",
            f"{MONTHS}test_doubt_keeps_every_month_and_the_next_ones_are_made_all_the_same",
        ),
    ),
    Fault(
        promise=18,
        title="rows of an accepted gap go before anybody has replayed them",
        file=PROOF,
        old="    for gap in gaps:",
        new="    for gap in ():",
        tests=(f"{DOUBTS}test_an_accepted_gap_keeps_all_until_somebody_says_that_it_is_closed",),
    ),
    Fault(
        promise=18,
        title="rows go that a replay or a backfill has still to read",
        file=PROOF,
        old="    for run, kind in runs:",
        new="    for run, kind in ():",
        tests=(
            f"{DOUBTS}test_a_run_that_reads_the_table_keeps_all[replay]",
            f"{DOUBTS}test_a_run_that_reads_the_table_keeps_all[backfill]",
        ),
    ),
    Fault(
        promise=18,
        title="rows go although the slot is not where the relay left it",
        file=PROOF,
        old="    if problem is not None:\n        yield",
        new="    if problem is not None and not problem:\n        yield",
        tests=(f"{DOUBTS}test_a_slot_that_is_not_as_the_relay_left_it_keeps_all[spoil_slot-is gone]",),
    ),
    Fault(
        promise=18,
        title="rows go that another relay on the table has not settled",
        file=PROOF,
        old="    others = readers_of(table, evidence.others)",
        new="    others = readers_of(table, evidence.others[:0])",
        tests=("tests/integration/test_retention_others.py::test_what_another_slot_has_not_settled_stays",),
    ),
    Fault(
        promise=18,
        title="a month goes with a row that came after it was read",
        file="cdc_relay/admin/retention/month_rows.py",
        old="        if int(unsettled_count or 0):\n            return None",
        new="        if int(unsettled_count or 0) < 0:\n            return None",
        tests=(
            "tests/integration/test_retention_locks.py::test_a_row_that_comes_after_the_month_was_read_keeps_it",
            "tests/integration/test_retention_locks.py::test_every_piece_of_a_month_is_judged",
        ),
    ),
    Fault(
        promise=18,
        title="a parked record that the slot has not passed is forgotten",
        file="cdc_relay/admin/retention/lot.py",
        old="AND commit_lsn < $3::pg_lsn",
        new="AND $3::pg_lsn IS NOT NULL",
        tests=("tests/integration/test_retention_lot.py::test_what_the_slot_has_not_passed_stays",),
    ),
)
