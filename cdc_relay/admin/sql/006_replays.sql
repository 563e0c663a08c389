-- 006: replays and backfills: what was asked for, how far it is, and what came of it (docs/replay.md).
-- In the database of source.dsn, after 003, by the same role. It may be run again.
-- By hand: psql -f sql/006_replays.sql

CREATE TABLE IF NOT EXISTS cdc_relay.replays (
    id          text        PRIMARY KEY,               -- of the run: the header cdc-relay-replay of its records
    slot        text        NOT NULL,
    kind        text        NOT NULL,
    state       text        NOT NULL DEFAULT 'running',
    attempt     integer     NOT NULL DEFAULT 1,        -- how many processes have worked on it
    selection   jsonb       NOT NULL DEFAULT '{}',     -- outboxes, and which of their rows
    position    jsonb,                                 -- everything before it is published, parked or dropped
    read_count      bigint  NOT NULL DEFAULT 0,        -- rows up to there
    published_count bigint  NOT NULL DEFAULT 0,
    parked_count    bigint  NOT NULL DEFAULT 0,
    dropped_count   bigint  NOT NULL DEFAULT 0,
    slot_lsn    pg_lsn,                                -- backfill: where the slot that it made begins
    began_by    text        NOT NULL DEFAULT session_user,
    began_at    timestamptz NOT NULL DEFAULT now(),
    stored_at   timestamptz NOT NULL DEFAULT now(),    -- the position
    ended_at    timestamptz,
    CONSTRAINT replays_kind CHECK (kind IN ('replay', 'backfill')),
    CONSTRAINT replays_state CHECK (state IN ('running', 'finished', 'abandoned'))
) WITH (fillfactor = 50);  -- an update a second stays on the page

CREATE INDEX IF NOT EXISTS replays_unfinished ON cdc_relay.replays (slot, kind, began_at) WHERE state = 'running';

INSERT INTO cdc_relay.schema_version (version) VALUES (6) ON CONFLICT DO NOTHING;
