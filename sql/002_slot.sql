-- 002: the slot, from which on every commit is kept until the relay has confirmed it. Rows that were committed
-- earlier are not in it. It waits for the transactions that are writing at this moment, in any database.
-- From Postgres 17 on it is a failover slot, which standbys may keep in step (docs/failover.md).
-- As a role with REPLICATION, not inside a transaction (no psql -1). Does nothing where the slot is there.
-- By hand: psql -v slot=orders_outbox -f sql/002_slot.sql

SET cdc_relay.setup_slot = :'slot';

DO $setup$
DECLARE
    v_slot name := current_setting('cdc_relay.setup_slot')::name;
BEGIN
    IF EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = v_slot) THEN
        RETURN;
    ELSIF current_setting('server_version_num')::integer >= 170000 THEN  -- temporary, two_phase, failover
        EXECUTE 'SELECT pg_create_logical_replication_slot($1, ''pgoutput'', false, false, true)' USING v_slot;
    ELSE
        PERFORM pg_create_logical_replication_slot(v_slot, 'pgoutput');
    END IF;
END
$setup$;
