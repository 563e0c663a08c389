-- 008: whether the events of an accepted gap have been published again: until somebody says so, retention removes no
-- row of an outbox (docs/retention.md). In the database of source.dsn, after 005, by the same role. It may be run again.
-- By hand: psql -f sql/008_closed_gaps.sql

ALTER TABLE cdc_relay.gaps ADD COLUMN IF NOT EXISTS closed_at timestamptz;  -- NULL: its rows may still be needed

INSERT INTO cdc_relay.schema_version (version) VALUES (8) ON CONFLICT DO NOTHING;
