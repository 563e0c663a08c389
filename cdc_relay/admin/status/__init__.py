"""`cdc-relay status`: what Postgres and the running relay say of one slot, and what to do first. Changes nothing."""
