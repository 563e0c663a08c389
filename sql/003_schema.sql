-- 003: the schema of cdc-relay, and the numbers of the scripts that were applied to it. The next versions add to it.
-- With CREATE on the database. Does nothing where all is there.
-- By hand: psql -f sql/003_schema.sql

CREATE SCHEMA IF NOT EXISTS cdc_relay;

CREATE TABLE IF NOT EXISTS cdc_relay.schema_version (
    version    integer     PRIMARY KEY,  -- the number of the script
    applied_at timestamptz NOT NULL DEFAULT now()
);

INSERT INTO cdc_relay.schema_version (version) VALUES (3) ON CONFLICT DO NOTHING;
