"""Faults in what is read and how far it is confirmed: promises 1 to 4. Data only."""

from __future__ import annotations

from tests.breakage.fault import Fault
from tests.breakage.places import (
    CLIENT_PRODUCER,
    ERRAND,
    FAILOVER,
    HELD_PROMISES,
    INTAKE,
    LEDGER,
    ON_SERVERS,
    PRODUCERS,
    PULSE,
    SLOT,
    STATUS_UPDATES,
    UNIT_LEDGER,
    UNIT_PROMISES,
    UNIT_PUBLISHER,
    UNIT_PUBLISHER_LOT,
    UNIT_SESSION,
    VALUES,
)

__all__ = ["POSITION_FAULTS"]

POSITION_FAULTS = (
    # --- 1: the slot is the only cursor
    Fault(
        promise=1,
        title="the stream starts at the end of the WAL instead of 0/0",
        file=SLOT,
        old='LOGICAL 0/0"\n',
        new="LOGICAL {line.query('SELECT pg_current_wal_insert_lsn()')[0][0]}\"\n",
        tests=(f"{VALUES}test_other_tables_of_a_publication_of_all_are_not_published",),
    ),
    Fault(
        promise=1,
        title="a transaction whose LSN an earlier line has brought is skipped",
        file=INTAKE,
        old="        plan = self._plan(insert.relation_id)\n        if plan is None:\n",
        new="        plan = self._plan(insert.relation_id)\n        seen = globals().setdefault('seen', {})\n"
        "        if plan is None or seen.setdefault(self._transaction.commit_lsn, self) is not self:\n",
        tests=(
            f"{UNIT_PROMISES}test_what_an_earlier_line_brought_is_published_again_when_the_slot_brings_it_again",
            f"{ON_SERVERS}test_what_was_queued_when_the_line_broke_is_read_again_and_published_once",
        ),
    ),
    # --- 2: confirm transactions, not records
    Fault(
        promise=2,
        title="the safe LSN is the newest settled transaction's, not the end of the settled prefix",
        file=LEDGER,
        old="transaction.end_lsn and transaction is self._queue[0]:\n            self._advance()\n",
        new="transaction.end_lsn:\n            self.safe_lsn = max(self.safe_lsn, transaction.end_lsn)\n",
        tests=(
            f"{UNIT_LEDGER}test_safe_lsn_waits_for_the_oldest_transaction",
            f"{HELD_PROMISES}test_the_slot_stays_before_an_open_record_when_a_later_transaction_is_acknowledged",
        ),
    ),
    Fault(
        promise=2,
        title="an idle position is confirmed while records are in flight",
        file=INTAKE,
        old="        self.ledger.idle(lsn)\n",
        new="        self.ledger.safe_lsn = max(self.ledger.safe_lsn, lsn)\n",
        tests=(f"{HELD_PROMISES}test_the_slot_stays_before_an_open_record_when_the_server_is_idle_past_it",),
    ),
    Fault(
        promise=2,
        title="a transaction is confirmed before its commit was read",
        file=LEDGER,
        old="transaction.end_lsn and transaction is self._queue[0]:\n            self._advance()\n",
        new="transaction is self._queue[0]:\n            self.safe_lsn = self._queue.popleft().commit_lsn\n",
        tests=(f"{UNIT_LEDGER}test_a_transaction_is_not_safe_before_its_commit_is_read",),
    ),
    # --- 3: every LSN dies with its connection
    Fault(
        promise=3,
        title="the ledger is kept from one connection to the next",
        file=INTAKE,
        old="self.ledger = make_ledger(window, ceiling_lsn=ceiling_lsn)",
        new="self.ledger = globals().setdefault('kept', make_ledger(window, ceiling_lsn=ceiling_lsn))",
        tests=(
            f"{UNIT_PROMISES}test_a_new_line_knows_no_position_of_the_last_one",
            f"{STATUS_UPDATES}test_every_session_begins_with_flush_zero",
            f"{FAILOVER}test_no_position_of_the_old_primary_is_reported_to_a_new_one_with_a_shorter_history",
        ),
    ),
    Fault(
        promise=3,
        title="what was received is confirmed, settled or not",
        file=PULSE,
        old="flush_lsn = ledger.report()",
        new="flush_lsn = ledger.received_lsn",
        tests=(
            f"{UNIT_SESSION}test_nothing_is_confirmed_before_the_broker_acknowledged_it",
            f"{STATUS_UPDATES}test_a_session_that_settled_nothing_confirms_nothing",
        ),
    ),
    Fault(
        promise=3,
        title="the ledger no longer refuses a position beyond what this session received",
        file=LEDGER,
        old="if lsn > self.received_lsn or lsn < self._reported_lsn:",
        new="if lsn < self._reported_lsn:",
        tests=(f"{UNIT_LEDGER}test_a_report_beyond_what_was_received_is_refused",),
    ),
    Fault(
        promise=3,
        title="the ledger no longer refuses a position below the last one",
        file=LEDGER,
        old="if lsn > self.received_lsn or lsn < self._reported_lsn:",
        new="if lsn > self.received_lsn:",
        tests=(f"{UNIT_LEDGER}test_a_report_below_the_last_one_is_refused",),
    ),
    # --- 4: settled = acknowledged, or parked durably
    Fault(
        promise=4,
        title="a record is settled when it is handed to the producer",
        file=CLIENT_PRODUCER,
        old="        report = partial(self._tray.take, slip, timestamp_ms, partition)\n",
        new="        report = None\n        self._tray.delivered.append(slip)\n",
        tests=(f"{HELD_PROMISES}test_nothing_is_settled_that_no_broker_acknowledged",),
    ),
    Fault(
        promise=4,
        title="the producer asks for the leader's acknowledgement only",
        file=PRODUCERS,
        old='"acks": "all",\n    "enable.idempotence": "true",',
        new='"acks": "1",\n    "enable.idempotence": "false",',
        tests=("tests/unit/test_kafka_properties.py::test_what_the_promises_rest_on_wins_over_everything",),
    ),
    Fault(
        promise=4,
        title="a record that cannot be published is settled before the lot has it",
        file=ERRAND,
        old="        self._gathered.append(item)\n",
        new="        self._gathered.append(item)\n        self._on_written([item])\n"
        "        self._on_written = lambda batch: None\n",
        tests=(
            f"{UNIT_PUBLISHER}test_a_record_that_fails_is_parked_and_then_settled",
            f"{UNIT_PUBLISHER_LOT}test_with_the_lot_away_nothing_is_settled_and_it_is_said",
        ),
    ),
)
