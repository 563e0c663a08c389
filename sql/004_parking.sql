-- 004: the lot: records that cannot be published now, or ever, with why and what to do (docs/parking.md).
-- In the database of parking.dsn (by default that of source.dsn), after 003, by the same role. It may be run again.
-- By hand: psql -f sql/004_parking.sql

CREATE TABLE IF NOT EXISTS cdc_relay.parked_records (
    id              bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    slot            text        NOT NULL,              -- of the relay that parked it and that will publish it
    status          text        NOT NULL,
    reason          text        NOT NULL,
    -- identity: a change that is delivered again after a crash is the same row
    outbox          text        NOT NULL,
    commit_lsn      pg_lsn      NOT NULL,
    ordinal         integer     NOT NULL,              -- place in its transaction
    commit_time     timestamptz NOT NULL,
    xid             bigint      NOT NULL,
    -- the record
    route           text        NOT NULL,
    topic           text,                              -- NULL: could not be routed; a retry routes again from columns
    key             bytea,
    value           bytea,
    headers         jsonb       NOT NULL DEFAULT '[]', -- in order: {"name", "value" (text or null) or "base64"}
    partition       integer,                           -- NULL: the partitioner decides
    record_time     timestamptz NOT NULL,              -- the record's timestamp
    columns         json,                              -- of an unroutable row: [{"name", "type" (oid), "modifier", "value"}]
    strict          boolean     NOT NULL,              -- later records of its key wait for it
    hold_dead       boolean     NOT NULL,              -- also when it is dead
    size_bytes      bigint      NOT NULL,
    -- the event, where mapped
    event_id        text,
    event_type      text,
    correlation_id  text,
    tenant          text,
    -- bookkeeping
    attempts        integer     NOT NULL DEFAULT 0,    -- tries from the lot
    max_attempts    integer     NOT NULL,
    first_failed_at timestamptz,
    last_error_at   timestamptz,
    last_error      text,
    error_code      text,
    error_class     text,
    remedy          text,
    next_retry_at   timestamptz,
    scheduled_at    timestamptz,
    published_at    timestamptz,
    copied_at       timestamptz,                       -- when the dead-letter topic had it
    parked_at       timestamptz NOT NULL DEFAULT now(),
    claimed_at      timestamptz,                       -- being published since; NULL: nobody has it
    suspicion       integer     NOT NULL DEFAULT 0,    -- runs that died while they had claimed it
    edits           jsonb       NOT NULL DEFAULT '[]', -- what operators did: at, by, what, and what was there before
    -- the LSN first: what is at or above a position is looked for
    CONSTRAINT parked_records_identity UNIQUE (slot, commit_lsn, ordinal, outbox, commit_time),
    CONSTRAINT parked_records_status CHECK (status IN (
        'retrying', 'behind', 'scheduled', 'dead', 'published', 'discarded', 'cancelled')),
    CONSTRAINT parked_records_reason CHECK (reason IN ('failure', 'topic_closed', 'behind', 'schedule')),
    CONSTRAINT parked_records_error_class CHECK (error_class IN ('transient', 'permanent', 'crash'))
);

-- due now: retries, schedules, and dead records that the dead-letter topic has not got yet
CREATE INDEX IF NOT EXISTS parked_records_due ON cdc_relay.parked_records (slot, next_retry_at)
    WHERE status = 'retrying' AND next_retry_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS parked_records_scheduled ON cdc_relay.parked_records (slot, scheduled_at)
    WHERE status = 'scheduled';
CREATE INDEX IF NOT EXISTS parked_records_uncopied ON cdc_relay.parked_records (slot, next_retry_at)
    WHERE status = 'dead' AND copied_at IS NULL;
-- in the order of the stream, per topic
CREATE INDEX IF NOT EXISTS parked_records_topic ON cdc_relay.parked_records (slot, topic, commit_lsn, ordinal)
    WHERE status = 'retrying' AND reason = 'topic_closed';
-- the oldest of a key; hashed, because a key may be larger than an index allows (FIPS forbids md5)
CREATE INDEX IF NOT EXISTS parked_records_key
    ON cdc_relay.parked_records (slot, topic, sha256(key), commit_lsn, ordinal)
    WHERE strict AND scheduled_at IS NULL AND status IN ('retrying', 'behind', 'dead');
CREATE INDEX IF NOT EXISTS parked_records_dead ON cdc_relay.parked_records (slot, last_error_at)
    WHERE status = 'dead';
-- how full the lot is
CREATE INDEX IF NOT EXISTS parked_records_live
    ON cdc_relay.parked_records (slot, status) INCLUDE (size_bytes, parked_at)
    WHERE status IN ('retrying', 'behind', 'scheduled', 'dead');
CREATE INDEX IF NOT EXISTS parked_records_claimed ON cdc_relay.parked_records (slot)
    WHERE claimed_at IS NOT NULL;

CREATE OR REPLACE VIEW cdc_relay.dead_letters AS
SELECT id, slot, outbox, route, topic, event_id, event_type, correlation_id, tenant, error_class, error_code,
       last_error, remedy, attempts, first_failed_at, last_error_at, commit_lsn, commit_time, key, value, headers, columns
  FROM cdc_relay.parked_records
 WHERE status = 'dead';

-- One row per slot: where the running process began, and, only after repeated deaths there, which record it is at.
CREATE TABLE IF NOT EXISTS cdc_relay.runs (
    slot             text        PRIMARY KEY,
    confirmed_lsn    pg_lsn      NOT NULL,
    began_at         timestamptz NOT NULL DEFAULT now(),
    ended            boolean     NOT NULL DEFAULT false, -- in an orderly way
    deaths           integer     NOT NULL DEFAULT 0,     -- runs in a row from confirmed_lsn that did not end so
    outboxes         jsonb       NOT NULL DEFAULT '[]',  -- that it reads: they number the rows of a transaction
    note             text,                               -- the record that it is at, or the first of a handful
    suspects         jsonb       NOT NULL DEFAULT '{}'   -- by record, or first of a handful: deaths while it was noted
);

INSERT INTO cdc_relay.schema_version (version) VALUES (4) ON CONFLICT DO NOTHING;
