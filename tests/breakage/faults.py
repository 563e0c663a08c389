"""The faults: data only. At least one for each promise that the core keeps, and one that shows on real servers."""

from __future__ import annotations

from tests.breakage.fault import Fault

__all__ = ["FAULTS", "PROMISES"]

PROMISES = tuple(range(1, 17))

INTAKE = "cdc_relay/delivery/intake.py"
LEDGER = "cdc_relay/delivery/ledger.py"
SESSION = "cdc_relay/session.py"
RELAY = "cdc_relay/relay.py"
SLOT = "cdc_relay/sources/slot.py"
SLOT_SOURCE = "cdc_relay/sources/slot_source.py"
PREFLIGHT = "cdc_relay/sources/preflight.py"
KAFKA = "cdc_relay/sinks/kafka.py"
OUTLET = "cdc_relay/sinks/outlet.py"
PRODUCERS = "cdc_relay/sinks/producers.py"
ERRAND = "cdc_relay/errand.py"
PUBLISHER = "cdc_relay/dispatch/publisher.py"
ENTRANCE = "cdc_relay/dispatch/entrance.py"
OUTAGES = "cdc_relay/dispatch/outages.py"
FEED = "cdc_relay/dispatch/feed.py"

UNIT_SESSION = "tests/unit/test_session.py::"
UNIT_LEDGER = "tests/unit/test_ledger.py::"
UNIT_INTAKE = "tests/unit/test_intake.py::"
UNIT_RELAY = "tests/unit/test_relay.py::"
UNIT_PREFLIGHT = "tests/unit/test_preflight.py::"
UNIT_PROMISES = "tests/unit/test_promises.py::"
ON_SERVERS = "tests/integration/test_promises.py::"
CONFIRMATION = "tests/integration/test_confirmation.py::"
BAD_STARTS = "tests/integration/test_bad_starts.py::"
WAITING = "tests/integration/test_waiting.py::"
WATCH = "tests/integration/test_publication_watch.py::"
VALUES = "tests/integration/test_values.py::"
STOP = "tests/integration/test_stop.py::"
PARKED = "tests/integration/test_parked_records.py::"
TROUBLES = "tests/integration/test_lot_troubles.py::"
CLOSED = "tests/integration/test_closed_topics.py::"
STRICT = "tests/integration/test_strict_order.py::"
UNIT_PUBLISHER = "tests/unit/test_publisher.py::"
UNIT_OUTAGES = "tests/unit/test_outages.py::"
UNIT_FEED = "tests/unit/test_feed.py::"
UNIT_CAUTION = "tests/unit/test_caution.py::"
LOT_KILLED = "tests/chaos/test_lot_killed.py::"
BROKER_OUTAGES = "tests/chaos/test_broker_outages.py::"
POSTGRES_OUTAGES = "tests/chaos/test_postgres_outages.py::"
CUT_LINES = "tests/chaos/test_cut_lines.py::"

FAULTS = (
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
        old="        if plan is None:\n            self.ignored_count",
        new="        seen = globals().setdefault('seen', {})\n"
        "        if plan is None or seen.setdefault(self._transaction.commit_lsn, self) is not self:\n"
        "            self.ignored_count",
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
            f"{ON_SERVERS}test_the_slot_stays_before_an_open_record_when_a_later_transaction_is_acknowledged",
        ),
    ),
    Fault(
        promise=2,
        title="an idle position is confirmed while records are in flight",
        file=INTAKE,
        old="        self.ledger.idle(lsn)\n",
        new="        self.ledger.safe_lsn = max(self.ledger.safe_lsn, lsn)\n",
        tests=(f"{ON_SERVERS}test_the_slot_stays_before_an_open_record_when_the_server_is_idle_past_it",),
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
        old="self.ledger = Ledger()",
        new="self.ledger = globals().setdefault('kept', Ledger())",
        tests=(
            f"{UNIT_PROMISES}test_a_new_line_knows_no_position_of_the_last_one",
            f"{CONFIRMATION}test_every_session_begins_with_flush_zero",
        ),
    ),
    Fault(
        promise=3,
        title="what was received is confirmed, settled or not",
        file=SESSION,
        old="flush_lsn = ledger.report()",
        new="flush_lsn = ledger.received_lsn",
        tests=(
            f"{UNIT_SESSION}test_nothing_is_confirmed_before_the_broker_acknowledged_it",
            f"{CONFIRMATION}test_a_session_that_settled_nothing_confirms_nothing",
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
        file=OUTLET,
        old="        report = partial(self._on_report, slip, timestamp_ms, partition)\n",
        new="        report = None\n        self.delivered.append(slip)\n",
        tests=(f"{ON_SERVERS}test_nothing_is_settled_that_no_broker_acknowledged",),
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
            f"{UNIT_PUBLISHER}test_with_the_lot_away_nothing_is_settled_and_it_is_said",
        ),
    ),
    # --- 5: status updates run on a clock
    Fault(
        promise=5,
        title="a status update is sent only when Postgres asks",
        file=SESSION,
        old=" or now >= self._status_at:",
        new=":",
        tests=(
            f"{UNIT_SESSION}test_status_updates_run_on_a_clock_with_a_full_window",
            f"{ON_SERVERS}test_postgres_hears_from_a_relay_with_a_full_window_and_keeps_it",
        ),
    ),
    Fault(
        promise=5,
        title="no status update is sent while the window is full",
        file=SESSION,
        old=" or now >= self._status_at:",
        new=" or (now >= self._status_at and not self._intake.window.is_full):",
        tests=(
            f"{UNIT_SESSION}test_status_updates_run_on_a_clock_with_a_full_window",
            f"{ON_SERVERS}test_postgres_hears_from_a_relay_with_a_full_window_and_keeps_it",
        ),
    ),
    Fault(
        promise=5,
        title="a keepalive that asks for a reply is not answered at once",
        file=INTAKE,
        old="        if keepalive.reply_requested:\n            self.reply_is_due = True\n",
        new="",
        tests=(f"{UNIT_SESSION}test_a_keepalive_that_asks_is_answered_at_once",),
    ),
    Fault(
        promise=5,
        title="no status update is sent while draining",
        file=SESSION,
        old="        self._tend_dispatch(now, may_claim=False)\n        self._report_if_due(now)\n",
        new="        self._tend_dispatch(now, may_claim=False)\n",
        tests=(f"{UNIT_PROMISES}test_postgres_hears_from_us_while_we_drain",),
    ),
    # --- 6: memory is bounded by a window
    Fault(
        promise=6,
        title="reading goes on when the window is full",
        file=SESSION,
        old="frame = None if window.is_full else read()",
        new="frame = read()",
        tests=(
            f"{UNIT_PROMISES}test_the_window_is_never_exceeded",
            f"{ON_SERVERS}test_no_more_is_open_than_the_window_allows",
        ),
    ),
    Fault(
        promise=6,
        title="the window counts records and no bytes",
        file="cdc_relay/delivery/window.py",
        old=" or self.byte_count >= self.byte_limit",
        new="",
        tests=(f"{UNIT_PROMISES}test_the_window_is_full_by_its_bytes_alone",),
    ),
    # --- 7: an outage is never poison
    Fault(
        promise=7,
        title="a record that the cluster could not take is given up like a bad one",
        file=PUBLISHER,
        old="                self._hold(record, slip)\n",
        new="                self._fail(record, slip, failure)\n",
        tests=(f"{UNIT_PUBLISHER}test_an_outage_of_the_cluster_parks_nothing_however_long",),
    ),
    Fault(
        promise=7,
        title="a topic is closed although the whole cluster is away",
        file=OUTAGES,
        old="            except AwayError:  # the cluster: hold everything, park nothing\n",
        new="            except AwayError:\n                self.close(name, judge(NOT_ACKNOWLEDGED, 'silent'))\n",
        tests=(
            f"{UNIT_OUTAGES}test_silence_of_the_whole_cluster_parks_nothing",
            f"{PARKED}test_an_outage_of_the_broker_parks_nobody_and_loses_nobody[frozen]",
        ),
    ),
    Fault(
        promise=7,
        title="waiting for a topic counts as an attempt",
        file=PUBLISHER,
        old="        self._conclude_claim(claim, Outcome.RELEASED)\n",
        new="        self._fail_claim(claim, Failure('closed', 'closed', ''))\n",
        tests=(f"{UNIT_FEED}test_a_claim_whose_topic_turns_out_closed_gets_its_attempt_back",),
    ),
    # --- 8: a bad record never blocks the others, and is never dropped
    Fault(
        promise=8,
        title="a change that the lot has is published from the stream again",
        file=INTAKE,
        old="        if self._parked and self._is_parked(",
        new="        if not self and self._is_parked(",
        tests=(f"{UNIT_FEED}test_what_the_lot_has_is_not_published_from_the_stream_again",),
    ),
    Fault(
        promise=8,
        title="all of a refused batch are parked",
        file=PUBLISHER,
        old="                self._send_again(record, slip, alone=self._culprits.suspect(reject, largest))\n",
        new="                self._fail(record, slip, failure)\n",
        tests=(
            f"{UNIT_PUBLISHER}test_of_a_refused_batch_only_the_culprit_is_parked",
            f"{PARKED}test_a_keyless_record_for_a_compacted_topic_is_the_only_one_of_its_batch_that_is_parked",
        ),
    ),
    Fault(
        promise=8,
        title="a record that cannot be routed is dropped",
        file=ENTRANCE,
        old="        failure, columns, policy, key, value = routed\n",
        new="        failure, columns, policy, key, value = routed\n        return self._intake.settle(ticket)\n",
        tests=(
            f"{UNIT_PUBLISHER}test_a_row_without_a_route_is_parked_with_its_columns",
            f"{PARKED}test_just_the_unpublishable_events_are_parked",
        ),
    ),
    Fault(
        promise=8,
        title="the later records of a strict key do not wait for a failed one",
        file=PUBLISHER,
        old="        if scope in self._entrance.gates or self.lanes.count_waiting(scope) >= _LANE_LIMIT:\n",
        new="        if self.lanes.count_waiting(scope) >= _LANE_LIMIT:\n",
        tests=(
            f"{UNIT_PUBLISHER}test_records_behind_follow_in_order_when_the_failed_one_is_published",
            f"{STRICT}test_records_of_a_key_follow_the_failed_one_while_other_keys_flow[1-one]",
        ),
    ),
    Fault(
        promise=8,
        title="the lot gives out what is newer than what the slot delivers again",
        file=FEED,
        old="        return self._intake.has_passed_parked and is_written\n",
        new="        return True\n",
        tests=(f"{UNIT_FEED}test_nothing_of_the_lot_passes_what_the_slot_delivers_again",),
    ),
    # --- 9: holding does not hurt Postgres
    Fault(
        promise=9,
        title="a relay that holds never releases the line",
        file=SESSION,
        old="            return End.RELEASED if self._dispatch.is_waiting_for_broker else None\n",
        new="            return None\n",
        tests=(
            f"{UNIT_SESSION}test_the_line_is_released_after_holding_with_a_full_window",
            f"{BROKER_OUTAGES}test_a_relay_that_holds_too_long_releases_the_line_until_the_broker_answers",
        ),
    ),
    Fault(
        promise=9,
        title="a Postgres that shuts down is not noticed",
        file=SESSION,
        old="        if self._server_is_leaving():\n            return End.LEAVING\n",
        new="",
        tests=(
            f"{UNIT_SESSION}test_a_leaving_server_ends_the_session",
            f"{POSTGRES_OUTAGES}test_a_fast_shutdown_is_not_held_up_by_a_relay_that_holds[watched]",
        ),
    ),
    # --- 10: stop is clean
    Fault(
        promise=10,
        title="the line is closed without waiting until Postgres has heard the last confirmation",
        file=SESSION,
        old="        self._shake_hands(self._clock() + _HANDSHAKE_SECONDS)\n",
        new="        self._report(reply_requested=False)\n",
        tests=(
            f"{UNIT_SESSION}test_parting_drains_confirms_and_hears_it",
            f"{ON_SERVERS}test_a_stop_in_the_middle_of_a_backlog_confirms_what_was_delivered",
        ),
    ),
    Fault(
        promise=10,
        title="new records are handed out while draining",
        file=SESSION,
        old="    def _drain_turn(self) -> None:\n",
        new="    def _drain_turn(self) -> None:\n        self._gulp()\n",
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
        tests=(f"{BAD_STARTS}test_a_publication_without_the_table_is_refused_and_the_printed_command_repairs_it",),
    ),
    Fault(
        promise=11,
        title="what is only away is refused",
        file=RELAY,
        old="except (AwayError, SourceError) as exc:",
        new="except SourceError as exc:",
        tests=(
            f"{UNIT_RELAY}test_what_is_away_is_waited_for_with_backoff",
            f"{WAITING}test_a_relay_that_cannot_reach_postgres_is_alive_and_not_ready[port]",
            f"{WAITING}test_a_standby_takes_over_when_the_reader_is_killed",
        ),
    ),
    Fault(
        promise=11,
        title="--no-wait waits",
        file=RELAY,
        old="if not self._may_wait:",
        new="if False:",
        tests=(f"{UNIT_RELAY}test_without_waiting_an_unreachable_broker_ends_it_with_its_remedy",),
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
        old="settings = PINNED_SETTINGS | {",
        new='settings = {"bytea_output": "hex"} | {',
        tests=(f"{VALUES}test_what_the_role_prefers_does_not_change_a_value",),
    ),
    # --- 15: relations that are no configured outbox
    Fault(
        promise=15,
        title="rows of a relation that is no outbox are published",
        file="cdc_relay/routing/router.py",
        old="outbox = self._outboxes.get((relation.namespace, relation.name))",
        new="outbox = next(iter(self._outboxes.values()))",
        tests=(
            f"{UNIT_INTAKE}test_a_relation_that_is_no_outbox_is_ignored_and_counted",
            f"{VALUES}test_other_tables_of_a_publication_of_all_are_not_published",
        ),
    ),
    Fault(
        promise=15,
        title="a relation that is no outbox ends the relay",
        file="cdc_relay/routing/router.py",
        old="outbox = self._outboxes.get((relation.namespace, relation.name))",
        new="outbox = self._outboxes[relation.namespace, relation.name]",
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
        old="        self._notice_pause(now)\n",
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
        old="        self._notice_silence(now)\n",
        new="",
        tests=(
            f"{UNIT_SESSION}test_a_silent_line_is_taken_for_dead_but_asked_first",
            f"{CUT_LINES}test_a_silent_postgres_is_noticed_before_it_lets_the_slot_go[from Postgres]",
        ),
    ),
)
