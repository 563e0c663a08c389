-- 002: the slot, from which on every commit is kept until the relay has confirmed it. Rows that were committed
-- earlier are not in it. It waits for the transactions that are writing at this moment, in any database.
-- As a role with REPLICATION, not inside a transaction (no psql -1). Does nothing where the slot is there.
-- By hand: psql -v slot=orders_outbox -f sql/002_slot.sql

SELECT pg_create_logical_replication_slot(:'slot', 'pgoutput')
 WHERE NOT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = :'slot');
