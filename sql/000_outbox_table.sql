-- 000: an outbox table, as an example. Keep your own if you have one: only the columns are looked at.
-- The names are Debezium's and the defaults of cdc-relay; others are mapped in the YAML under outboxes[].columns.
-- By hand: psql -v table=public.outbox -f sql/000_outbox_table.sql

CREATE TABLE IF NOT EXISTS :table (
    id            uuid        PRIMARY KEY DEFAULT gen_random_uuid(),  -- the header `id`: consumers deduplicate by it
    aggregatetype text        NOT NULL,                               -- names the topic: outbox.event.<aggregatetype>
    aggregateid   text        NOT NULL,                               -- the record's key: order is kept per key
    type          text        NOT NULL,                               -- what happened
    payload       jsonb,                                              -- the record's value; NULL is a tombstone
    created_at    timestamptz NOT NULL DEFAULT now()
);
