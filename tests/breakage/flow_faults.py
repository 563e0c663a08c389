"""Faults in how records flow, wait and are parked: promises 5 to 9. Data only."""

from __future__ import annotations

from tests.breakage.fault import Fault
from tests.breakage.places import (
    BROKER_OUTAGES,
    CLAIMS,
    DRAIN,
    ENTRANCE,
    FEED,
    HELD_PROMISES,
    INTAKE,
    OUTAGES,
    PARKED,
    PARKED_BATCHES,
    POSTGRES_OUTAGES,
    PULSE,
    SESSION,
    STRICT,
    STRICT_KEYS,
    UNIT_FEED,
    UNIT_FEED_CLAIMS,
    UNIT_OUTAGES,
    UNIT_PROMISES,
    UNIT_PUBLISHER,
    UNIT_PUBLISHER_BATCHES,
    UNIT_SESSION,
    VERDICTS,
)

__all__ = ["FLOW_FAULTS"]

FLOW_FAULTS = (
    # --- 5: status updates run on a clock
    Fault(
        promise=5,
        title="a status update is sent only when Postgres asks",
        file=PULSE,
        old=" or now >= self._report_at:",
        new=":",
        tests=(
            f"{UNIT_SESSION}test_status_updates_run_on_a_clock_with_a_full_window",
            f"{HELD_PROMISES}test_postgres_hears_from_a_relay_with_a_full_window_and_keeps_it",
        ),
    ),
    Fault(
        promise=5,
        title="no status update is sent while the window is full",
        file=PULSE,
        old=" or now >= self._report_at:",
        new=" or (now >= self._report_at and not self._intake.window.is_full):",
        tests=(
            f"{UNIT_SESSION}test_status_updates_run_on_a_clock_with_a_full_window",
            f"{HELD_PROMISES}test_postgres_hears_from_a_relay_with_a_full_window_and_keeps_it",
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
        file=DRAIN,
        old="        self._pulse.report_if_due(now)\n",
        new="",
        tests=(f"{UNIT_PROMISES}test_postgres_hears_from_us_while_we_drain",),
    ),
    Fault(
        promise=5,
        title="a new line begins without a word",
        file=SESSION,
        old="        self._pulse.report_if_due(self._clock())  # before",
        new="        # before",
        tests=(f"{UNIT_SESSION}test_the_first_status_goes_out_before_anything_is_read",),
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
            f"{HELD_PROMISES}test_no_more_is_open_than_the_window_allows",
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
        file=VERDICTS,
        old="                self._detours.hold(record, slip)\n",
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
        file=CLAIMS,
        old="        self.conclude(claim, Outcome.RELEASED)\n",
        new="        self.fail(claim, Failure('closed', 'closed', ''))\n",
        tests=(f"{UNIT_FEED}test_a_claim_whose_topic_turns_out_closed_gets_its_attempt_back",),
    ),
    # --- 8: a bad record never blocks the others, and is never dropped
    Fault(
        promise=8,
        title="a change that the lot has is published from the stream again",
        file=INTAKE,
        old="        if not self._parked.is_passed and self._parked.has(",
        new="        if False and self._parked.has(",
        tests=(f"{UNIT_FEED_CLAIMS}test_what_the_lot_has_is_not_published_from_the_stream_again",),
    ),
    Fault(
        promise=8,
        title="all of a refused batch are parked",
        file=VERDICTS,
        old="                self._detours.send_again(record, slip, alone=self._culprits.suspect(reject, largest))\n",
        new="                self._fail(record, slip, failure)\n",
        tests=(
            f"{UNIT_PUBLISHER_BATCHES}test_of_a_refused_batch_only_the_culprit_is_parked",
            f"{PARKED_BATCHES}test_a_keyless_record_for_a_compacted_topic_is_the_only_one_of_its_batch_that_is_parked",
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
        file=STRICT_KEYS,
        old="        if not self._gates or scope not in self._gates:\n",
        new="        if scope:\n",
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
        tests=(f"{UNIT_FEED_CLAIMS}test_nothing_of_the_lot_passes_what_the_slot_delivers_again",),
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
)
