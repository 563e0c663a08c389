"""Faults in how the process starts, stops and knows its place: promises 10 to 16. Data only."""

from __future__ import annotations

from tests.breakage.fault import Fault
from tests.breakage.places import (
    BAD_PUBLICATIONS,
    BAD_STARTS,
    CUT_LINES,
    INTAKE,
    ON_SERVERS,
    PARTING,
    PREFLIGHT,
    RELAY,
    SESSION,
    SLOT,
    SLOT_SOURCE,
    STANDBY,
    STOP,
    UNIT_INTAKE,
    UNIT_PREFLIGHT,
    UNIT_RELAY,
    UNIT_RELAY_START,
    UNIT_SESSION,
    VALUES,
    WAITING,
    WATCH,
)

__all__ = ["PROCESS_FAULTS"]

PROCESS_FAULTS = (
    # --- 10: stop is clean
    Fault(
        promise=10,
        title="the line is closed without waiting until Postgres has heard the last confirmation",
        file=PARTING,
        old="        self._shake_hands(self._clock() + _HANDSHAKE_SECONDS)\n",
        new="        self._pulse.report(reply_requested=False)\n",
        tests=(
            f"{UNIT_SESSION}test_parting_drains_confirms_and_hears_it",
            f"{ON_SERVERS}test_a_stop_in_the_middle_of_a_backlog_confirms_what_was_delivered",
        ),
    ),
    Fault(
        promise=10,
        title="new records are handed out while draining",
        file=SESSION,
        old="        return self._parting.part(",
        new="        self._gulp()\n        return self._parting.part(",
        tests=(f"{UNIT_SESSION}test_parting_drains_confirms_and_hears_it",),
    ),
    Fault(
        promise=10,
        title="a stop does not wait for what is in flight",
        file=RELAY,
        old="left = session.part(self._timing.drain)",
        new="left = session.part(0)",
        tests=(
            f"{UNIT_RELAY}test_stopping_drains_and_says_so",
            f"{ON_SERVERS}test_a_stop_waits_for_what_is_in_flight",
        ),
    ),
    Fault(
        promise=10,
        title="a stop that could not drain exits with 0",
        file=RELAY,
        old="        if left:\n",
        new="        if False:\n",
        tests=(
            f"{UNIT_RELAY}test_a_drain_that_was_too_short_says_how_many_come_again",
            f"{STOP}test_a_stop_that_cannot_drain_exits_1_and_says_how_many_will_come_again",
        ),
    ),
    # --- 11: refuse loudly what is wrong, wait for what is only away
    Fault(
        promise=11,
        title="wal_level is not looked at",
        file=PREFLIGHT,
        old='if facts.wal_level != "logical":',
        new="if False:",
        tests=(f"{BAD_STARTS}test_wal_level_replica_is_refused_with_the_setting_to_change",),
    ),
    Fault(
        promise=11,
        title="a publication without the table is accepted",
        file=PREFLIGHT,
        old="if not table.member:",
        new="if False:",
        tests=(
            f"{BAD_PUBLICATIONS}test_a_publication_without_the_table_is_refused_and_the_printed_command_repairs_it",
        ),
    ),
    Fault(
        promise=11,
        title="what is only away is refused",
        file=RELAY,
        old="except (AwayError, SourceError) as exc:",
        new="except SourceError as exc:",
        tests=(
            f"{UNIT_RELAY_START}test_what_is_away_is_waited_for_with_backoff",
            f"{WAITING}test_a_relay_that_cannot_reach_postgres_is_alive_and_not_ready[port]",
            f"{STANDBY}test_a_standby_takes_over_when_the_reader_is_killed",
        ),
    ),
    Fault(
        promise=11,
        title="--no-wait waits",
        file=RELAY,
        old="if not self._may_wait:",
        new="if False:",
        tests=(f"{UNIT_RELAY_START}test_without_waiting_an_unreachable_broker_ends_it_with_its_remedy",),
    ),
    # --- 12: notice a publication that changes under us
    Fault(
        promise=12,
        title="the publication's fingerprint is not compared",
        file=SLOT_SOURCE,
        old="self._seen.fingerprint != now.fingerprint",
        new="False",
        tests=(f"{WATCH}test_a_changed_publication_ends_the_relay_with_a_remedy[table taken out]",),
    ),
    Fault(
        promise=12,
        title="a table that was taken out and put back looks as before",
        file="cdc_relay/sources/catalog.py",
        old="table.member, table.row_filter",
        new="bool(table.member), table.row_filter",
        tests=(f"{WATCH}test_a_changed_publication_ends_the_relay_with_a_remedy[table taken out and put back]",),
    ),
    Fault(
        promise=12,
        title="an idle position is confirmed without a look at the publication",
        file=INTAKE,
        old="            self.idle_lsn = keepalive.wal_end\n",
        new="            self.confirm_idle(keepalive.wal_end)\n",
        tests=(
            f"{UNIT_INTAKE}test_a_keepalive_outside_a_transaction_is_only_a_candidate",
            f"{WATCH}test_nothing_is_confirmed_past_the_change[table taken out]",
        ),
    ),
    # --- 13: never a synchronous standby
    Fault(
        promise=13,
        title="synchronous_standby_names is never found to name us",
        file=PREFLIGHT,
        old='return any(name == "*" or name.lower() == application_name.lower() for name in names)',
        new="return False",
        tests=(
            f"{UNIT_PREFLIGHT}test_our_name_is_found_at_any_place_in_any_list",
            f"{ON_SERVERS}test_a_relay_that_would_be_a_synchronous_standby_is_refused_before_it_streams",
        ),
    ),
    Fault(
        promise=13,
        title="a relay that becomes a synchronous standby while it streams does not notice",
        file=SLOT_SOURCE,
        old="if self._is_waited_for(facts):",
        new="if False:",
        tests=(f"{BAD_STARTS}test_becoming_a_synchronous_standby_while_streaming_ends_the_relay",),
    ),
    # --- 14: values as Postgres prints them
    Fault(
        promise=14,
        title="of the session's settings only bytea_output is pinned",
        file=SLOT,
        old="settings = pinned_settings(line) | {",
        new='settings = {"bytea_output": "hex"} | {',
        tests=(f"{VALUES}test_what_the_role_prefers_does_not_change_a_value",),
    ),
    # --- 15: relations that are no configured outbox
    Fault(
        promise=15,
        title="rows of a relation that is no outbox are published",
        file="cdc_relay/routing/router.py",
        old="outbox = self._tables.get((relation.namespace, relation.name))",
        new="outbox = next(iter(self._tables.values()))",
        tests=(
            f"{UNIT_INTAKE}test_a_relation_that_is_no_outbox_is_ignored_and_counted",
            f"{VALUES}test_other_tables_of_a_publication_of_all_are_not_published",
        ),
    ),
    Fault(
        promise=15,
        title="a relation that is no outbox ends the relay",
        file="cdc_relay/routing/router.py",
        old="outbox = self._tables.get((relation.namespace, relation.name))",
        new="outbox = self._tables[relation.namespace, relation.name]",
        tests=(
            f"{UNIT_INTAKE}test_a_relation_that_is_no_outbox_is_ignored_and_counted",
            f"{VALUES}test_changes_of_other_tables_are_counted_as_ignored",
        ),
    ),
    # --- 16: one process reads a slot at a time
    Fault(
        promise=16,
        title="what is queued is not purged when the line is lost",
        file=RELAY,
        old="            self._sink.reset()  # first",
        new="            pass  # first",
        tests=(
            f"{UNIT_RELAY}test_whatever_was_open_is_forgotten_before_the_next_session",
            f"{ON_SERVERS}test_what_was_queued_when_the_line_broke_is_read_again_and_published_once",
        ),
    ),
    Fault(
        promise=16,
        title="a process that stood still goes on publishing",
        file=SESSION,
        old="        self._standstill.notice(now)\n",
        new="",
        tests=(
            f"{UNIT_SESSION}test_a_process_that_stood_still_publishes_nothing_more_on_its_line",
            f"{ON_SERVERS}test_a_relay_that_stood_still_publishes_nothing_of_what_it_finds_on_its_line",
        ),
    ),
    Fault(
        promise=16,
        title="a silent line is not noticed",
        file=SESSION,
        old="        self._pulse.notice_silence(now)\n",
        new="",
        tests=(
            f"{UNIT_SESSION}test_a_silent_line_is_taken_for_dead_but_asked_first",
            f"{CUT_LINES}test_a_silent_postgres_is_noticed_before_it_lets_the_slot_go[from Postgres]",
        ),
    ),
)
