-- The roles of docker-compose.yml and their rights, as docs/privileges.md has them. Run by a superuser, before
-- `cdc-relay setup`; may be repeated, also after a password was changed.
\set owner_password `cat /run/secrets/owner_password`
\set relay_password `cat /run/secrets/relay_password`
\set shop_password `cat /run/secrets/shop_password`

SELECT format('CREATE ROLE %I', name) FROM unnest(ARRAY['orders_owner', 'relay', 'shop']) AS name
 WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec

-- setup: owns the table, makes publication, slot and schema.
ALTER ROLE orders_owner LOGIN REPLICATION PASSWORD :'owner_password';
GRANT CREATE ON DATABASE :"DBNAME" TO orders_owner;
ALTER TABLE public.outbox OWNER TO orders_owner;

-- run: reads the slot and keeps its own schema; nothing on the outbox. What a later `setup` adds there is included.
ALTER ROLE relay LOGIN REPLICATION PASSWORD :'relay_password';
SELECT 'CREATE SCHEMA cdc_relay AUTHORIZATION orders_owner' WHERE to_regnamespace('cdc_relay') IS NULL \gexec
GRANT USAGE ON SCHEMA cdc_relay TO relay;
GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA cdc_relay TO relay;
ALTER DEFAULT PRIVILEGES FOR ROLE orders_owner IN SCHEMA cdc_relay GRANT SELECT, INSERT, UPDATE ON TABLES TO relay;

-- the application
ALTER ROLE shop LOGIN PASSWORD :'shop_password';
GRANT INSERT ON public.outbox TO shop;
