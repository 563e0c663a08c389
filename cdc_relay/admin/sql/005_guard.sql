-- 005: the slot guard: how far the relay may have confirmed each slot, and what it reads there (docs/guard.md).
-- In the database of source.dsn, after 003, by the same role. It may be run again.
-- By hand: psql -f sql/005_guard.sql

-- One row per slot. Everything committed before a mark (its LSN, the oldest transaction running then, the time, and the
-- rows that the outboxes had been given) is settled once the ceiling has passed the mark's LSN.
CREATE TABLE IF NOT EXISTS cdc_relay.guard (
    slot              text        PRIMARY KEY,
    system_identifier bigint      NOT NULL,              -- of the server that has the slot
    timeline          bigint      NOT NULL,
    fingerprint       text        NOT NULL,              -- of the publication and the outboxes in it
    seen_lsn          pg_lsn      NOT NULL,              -- where the publication was last seen so
    seen_at           timestamptz NOT NULL,
    ceiling           pg_lsn      NOT NULL,              -- no status update passes it
    raised_at         timestamptz NOT NULL,
    settled_lsn       pg_lsn      NOT NULL,              -- the last mark that the ceiling has passed
    settled_xid       xid8        NOT NULL,
    settled_at        timestamptz NOT NULL,
    settled_rows      bigint      NOT NULL,
    next_lsn          pg_lsn      NOT NULL,              -- the mark after it
    next_xid          xid8        NOT NULL,
    next_at           timestamptz NOT NULL,
    next_rows         bigint      NOT NULL
) WITH (fillfactor = 20);  -- an update a second stays on the page

-- What operators accepted with `run --accept-gap`: never changed, never removed by the relay.
CREATE TABLE IF NOT EXISTS cdc_relay.gaps (
    id            bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    slot          text        NOT NULL,
    accepted_at   timestamptz NOT NULL DEFAULT now(),
    accepted_by   text        NOT NULL DEFAULT session_user,
    problem       text        NOT NULL,
    from_lsn      pg_lsn      NOT NULL,
    to_lsn        pg_lsn      NOT NULL,
    from_time     timestamptz NOT NULL,
    to_time       timestamptz NOT NULL,
    row_estimate  bigint,                                -- NULL: nobody knows
    replay        text        NOT NULL                   -- the command that closes it
);

INSERT INTO cdc_relay.schema_version (version) VALUES (5) ON CONFLICT DO NOTHING;
