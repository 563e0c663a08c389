-- 001: the publication has the outbox table. It must be there before the slot: on Postgres 15 and 16 a slot that
-- is older than its publication cannot be read, on newer ones it skips what was committed in between.
-- Once per table; with an empty name where there is none. As the owner of the table, with CREATE on the database. Does nothing where all is there.
-- By hand: psql -v table=public.outbox -v publication=orders_outbox -f sql/001_publication.sql

SET cdc_relay.setup_table = :'table';
SET cdc_relay.setup_publication = :'publication';

DO $setup$
DECLARE
    v_table regclass := nullif(current_setting('cdc_relay.setup_table'), '')::regclass;
    v_publication name := current_setting('cdc_relay.setup_publication')::name;
    v_schema oid := (SELECT relnamespace FROM pg_class WHERE oid = v_table);
BEGIN
    IF v_table IS NULL THEN  -- outboxes of logical messages alone: no table, but the slot is read with a publication
        IF NOT EXISTS (SELECT FROM pg_publication WHERE pubname = v_publication) THEN
            EXECUTE format(
                'CREATE PUBLICATION %I WITH (publish = ''insert'', publish_via_partition_root = true)', v_publication);
        END IF;
    ELSIF NOT EXISTS (SELECT FROM pg_publication WHERE pubname = v_publication) THEN
        EXECUTE format(
            'CREATE PUBLICATION %I FOR TABLE %s WITH (publish = ''insert'', publish_via_partition_root = true)',
            v_publication, v_table);
    ELSIF NOT EXISTS (  -- neither FOR ALL TABLES, nor FOR TABLE, nor FOR TABLES IN SCHEMA
        SELECT FROM pg_publication p
         WHERE p.pubname = v_publication
           AND (p.puballtables
                OR EXISTS (SELECT FROM pg_publication_rel r WHERE r.prpubid = p.oid AND r.prrelid = v_table)
                OR EXISTS (SELECT FROM pg_publication_namespace n WHERE n.pnpubid = p.oid AND n.pnnspid = v_schema))
    ) THEN
        EXECUTE format('ALTER PUBLICATION %I ADD TABLE %s', v_publication, v_table);
    END IF;
END
$setup$;
