-- 007: parked records of replays and backfills have an identity of their own: outbox, run and row (docs/replay.md).
-- In the database of parking.dsn (by default that of source.dsn), after 004, by the same role. It may be run again.
-- By hand: psql -f sql/007_parked_replays.sql

ALTER TABLE cdc_relay.parked_records ADD COLUMN IF NOT EXISTS run text;       -- NULL: it came from the stream
ALTER TABLE cdc_relay.parked_records ADD COLUMN IF NOT EXISTS run_row bytea;  -- hash of the event id, and of the row's place where ids may repeat

-- the LSN first: what is at or above a position is looked for
CREATE UNIQUE INDEX IF NOT EXISTS parked_records_stream
    ON cdc_relay.parked_records (slot, commit_lsn, ordinal, outbox, commit_time) WHERE run IS NULL;
CREATE UNIQUE INDEX IF NOT EXISTS parked_records_run
    ON cdc_relay.parked_records (slot, run, outbox, run_row) WHERE run IS NOT NULL;
ALTER TABLE cdc_relay.parked_records DROP CONSTRAINT IF EXISTS parked_records_identity;

INSERT INTO cdc_relay.schema_version (version) VALUES (7) ON CONFLICT DO NOTHING;
