-- 000: an outbox table, as an example. Keep your own if you have one: only the columns are looked at.
-- The names are Debezium's and the defaults of cdc-relay; others are mapped in the YAML under outboxes[].columns, and
-- headers, correlation_id and scheduled_at are used once they are mapped there. `cdc-relay setup --outbox-table` makes
-- the same with the names of your file, and with --partitioned by month. Does nothing where the table is there.
-- By hand: psql -v table=public.outbox -f sql/000_outbox_table.sql

SELECT CASE WHEN current_setting('server_version_num')::integer >= 180000 THEN 'uuidv7()' ELSE 'gen_random_uuid()' END AS new_id
\gset

CREATE TABLE IF NOT EXISTS :table (
    id             uuid        NOT NULL DEFAULT :new_id,  -- the header `id`: consumers deduplicate by it
    aggregatetype  text        NOT NULL,                  -- names the topic: outbox.event.<aggregatetype>
    aggregateid    text        NOT NULL,                  -- the record's key: order is kept per key
    type           text        NOT NULL,                  -- what happened
    payload        jsonb,                                 -- the record's value; NULL is a tombstone
    headers        jsonb,                                 -- {"name": "value"}: more headers of the record
    correlation_id text,
    scheduled_at   timestamptz,                           -- published then, not before
    created_at     timestamptz NOT NULL DEFAULT now(),    -- by which retention knows how old a row is
    PRIMARY KEY (id)
);
