"""Faults of table-less outboxes: where a message ends, what is its place, and who looks into it."""

from __future__ import annotations

from tests.breakage.fault import Fault
from tests.breakage.places import FORESIGHT, INTAKE, OUTCOME

__all__ = ["MESSAGE_FAULTS"]

UNIT_MESSAGES = "tests/unit/test_intake_messages.py::"
BESIDE_COMMITS = "tests/integration/test_messages_beside_commits.py::"

MESSAGE_FAULTS = (
    # --- 2: confirm transactions, not records
    Fault(
        promise=2,
        title="a message outside transactions is confirmed one byte beyond its end",
        file=INTAKE,
        old="        self.ledger.commit(message.lsn)",
        new="        self.ledger.commit(message.lsn + 1)",
        tests=(
            f"{UNIT_MESSAGES}test_a_message_outside_transactions_is_a_transaction_of_its_own",
            f"{BESIDE_COMMITS}test_what_begins_where_the_confirmed_position_is_comes_again[message_and_message]",
            f"{BESIDE_COMMITS}test_what_begins_where_the_confirmed_position_is_comes_again[message_and_commit]",
        ),
    ),
    # --- 8: a bad record never blocks the others, and is never dropped
    Fault(
        promise=8,
        title="a message outside transactions has the place of the commit right behind it",
        file=FORESIGHT,
        old="    return message_lsn - 1\n",
        new="    return message_lsn\n",
        tests=(
            f"{UNIT_MESSAGES}test_a_parked_message_is_passed_when_the_server_is_where_it_ends",
            f"{BESIDE_COMMITS}test_a_message_right_before_a_commit_and_what_is_committed_are_parked_once_each"
            "[relaxed-kill-write_message]",
        ),
    ),
    Fault(
        promise=8,
        title="a message that killed the process is opened when it is condemned",
        file=OUTCOME,
        old="    is_message = plan.outbox.message_prefix is not None\n",
        new="    is_message = False\n",
        tests=(f"{UNIT_MESSAGES}test_a_condemned_message_is_not_opened",),
    ),
)
