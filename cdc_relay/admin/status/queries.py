"""What `status` asks Postgres, one statement per section. A role with the rights of `run`, or less, may ask them."""

from __future__ import annotations

__all__ = ["BACKFILL", "DEAD_ERRORS", "GAPS", "GUARD", "POSTGRES", "RUN", "SETTINGS", "SLOT", "WAITING_TOPICS"]

SETTINGS = (
    "SET statement_timeout = '10s'; SET lock_timeout = '3s'; SET timezone = 'UTC'; SET datestyle = 'ISO';"
    " SET default_transaction_read_only = on"
)
POSTGRES = """
SELECT current_setting('server_version_num'), pg_is_in_recovery(),
       CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END,
       (SELECT setting::bigint * 1048576 FROM pg_settings WHERE name = 'max_slot_wal_keep_size')
"""
# As JSON: newer versions have columns that older ones lack. The reader's columns are NULL where the role may not see.
SLOT = """
SELECT to_jsonb(s) || jsonb_build_object(
         'is_here', s.database = current_database(),
         'lag_bytes', greatest(pg_wal_lsn_diff($2::pg_lsn, s.confirmed_flush_lsn), 0),
         'kept_bytes', greatest(pg_wal_lsn_diff($2::pg_lsn, s.restart_lsn), 0),
         'inactive_seconds', extract(epoch FROM clock_timestamp() - (to_jsonb(s) ->> 'inactive_since')::timestamptz),
         'role', a.usename, 'application_name', a.application_name, 'address', host(a.client_addr),
         'since_seconds', extract(epoch FROM clock_timestamp() - a.backend_start))
  FROM pg_replication_slots s LEFT JOIN pg_stat_activity a ON a.pid = s.active_pid
 WHERE s.slot_name = $1
"""
GUARD = """
SELECT ceiling, extract(epoch FROM clock_timestamp() - raised_at), settled_lsn,
       extract(epoch FROM clock_timestamp() - settled_at)
  FROM cdc_relay.guard WHERE slot = $1
"""
GAPS = """
SELECT accepted_at, accepted_by, problem, from_lsn, to_lsn, from_time, to_time, row_estimate, replay
  FROM cdc_relay.gaps WHERE slot = $1 ORDER BY id DESC LIMIT 3
"""
BACKFILL = """
SELECT id, extract(epoch FROM clock_timestamp() - began_at), extract(epoch FROM clock_timestamp() - stored_at)
  FROM cdc_relay.replays WHERE slot = $1 AND kind = 'backfill' AND state = 'running' ORDER BY began_at DESC LIMIT 1
"""
RUN = """
SELECT extract(epoch FROM clock_timestamp() - began_at), ended, deaths FROM cdc_relay.runs WHERE slot = $1
"""
WAITING_TOPICS = """
SELECT topic, count(*) FROM cdc_relay.parked_records
 WHERE slot = $1 AND status = 'retrying' AND reason = 'topic_closed' AND topic IS NOT NULL
 GROUP BY topic ORDER BY topic
"""
# The newest first: the index of the dead is in the order of their errors.
DEAD_ERRORS = """
SELECT last_error_at, topic, error_code, last_error FROM cdc_relay.parked_records
 WHERE slot = $1 AND status = 'dead' AND last_error_at IS NOT NULL ORDER BY last_error_at DESC LIMIT 3
"""
