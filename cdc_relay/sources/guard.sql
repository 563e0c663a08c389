-- The SQL of the slot guard, in named blocks: a line "-- :name", then what it is for, then the statement.
-- Blocks named in {braces} are put in before anything is run. Nothing here needs a right on the outboxes.

-- :settings
-- Durable means on disk, whatever the role prefers.
SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit')
                                        WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false)

-- :now
-- $1 the outboxes as JSON, [[schema, table], ...]. The statement's snapshot is taken before the position is read: the
-- commit of every transaction that it sees as over is before that position.
SELECT (SELECT system_identifier FROM pg_control_system()) AS system_identifier,
       CASE WHEN pg_is_in_recovery() THEN (SELECT timeline_id FROM pg_control_checkpoint())
            ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint END AS timeline,
       CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END AS lsn,
       pg_snapshot_xmin(pg_current_snapshot()) AS xid,
       clock_timestamp() AS at,
       (SELECT coalesce(sum(pg_stat_get_tuples_inserted(c.oid) + (
                   SELECT coalesce(sum(pg_stat_get_tuples_inserted(leaf.relid)), 0)
                     FROM pg_partition_tree(c.oid) leaf WHERE leaf.isleaf AND leaf.relid <> c.oid)), 0)::bigint
          FROM json_array_elements($1::json) AS outbox
          JOIN pg_namespace n ON n.nspname = outbox ->> 0
          JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = outbox ->> 1) AS rows

-- :server
-- $1 the outboxes
WITH now AS ({now})
SELECT system_identifier, timeline, lsn, xid, extract(epoch FROM at), rows FROM now

-- :read
-- $1 slot
SELECT system_identifier, timeline, fingerprint, seen_lsn, extract(epoch FROM seen_at), ceiling,
       settled_lsn, settled_xid, extract(epoch FROM settled_at), settled_rows
  FROM cdc_relay.guard WHERE slot = $1

-- :slot_xid
-- $2 slot, in a statement that has {now}: no transaction that the slot has still to deliver has a lower number.
SELECT CASE WHEN top % 4294967296 < low THEN top / 4294967296 * 4294967296 - 4294967296 + low
            ELSE top / 4294967296 * 4294967296 + low END
  FROM (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS top, catalog_xmin::text::bigint AS low
          FROM pg_replication_slots WHERE slot_name = $2::text) AS numbers

-- :fresh
-- $1 the outboxes, $2 slot, $3 publication, $4 ceiling, $5 where the publication was seen. What the slot has not yet
-- delivered is not settled, however old it is.
WITH now AS ({now})
INSERT INTO cdc_relay.guard (slot, system_identifier, timeline, fingerprint, seen_lsn, seen_at, ceiling, raised_at,
    settled_lsn, settled_xid, settled_at, settled_rows, next_lsn, next_xid, next_at, next_rows)
SELECT $2::text, system_identifier, timeline, $3::text, $5::pg_lsn, at, $4::pg_lsn, at,
       $4::pg_lsn, coalesce(({slot_xid})::text::xid8, xid), at, rows, lsn, xid, at, rows
  FROM now

-- :begin
-- As fresh. Somebody else may have been quicker.
{fresh}
ON CONFLICT (slot) DO NOTHING

-- :begin_anew
-- As fresh. A gap was accepted: what was there is overwritten.
{fresh}
ON CONFLICT (slot) DO UPDATE
   SET system_identifier = excluded.system_identifier, timeline = excluded.timeline,
       fingerprint = excluded.fingerprint, seen_lsn = excluded.seen_lsn, seen_at = excluded.seen_at,
       ceiling = excluded.ceiling, raised_at = excluded.raised_at,
       settled_lsn = excluded.settled_lsn, settled_xid = excluded.settled_xid, settled_at = excluded.settled_at,
       settled_rows = excluded.settled_rows, next_lsn = excluded.next_lsn, next_xid = excluded.next_xid,
       next_at = excluded.next_at, next_rows = excluded.next_rows

-- :follow
-- $1 the outboxes, $2 slot, $3 publication, $4 the slot's position, $5 where the publication was seen: where this
-- session begins
WITH now AS ({now})
UPDATE cdc_relay.guard g
   SET timeline = now.timeline, fingerprint = $3::text, seen_lsn = $5::pg_lsn, seen_at = now.at,
       ceiling = greatest(g.ceiling, $4::pg_lsn)
  FROM now WHERE g.slot = $2::text

-- :raise
-- $1 the outboxes, $2 slot, $3 ceiling, $4 and $5 where and when the publication was last seen. A mark is settled once
-- the ceiling has passed it and the publication was seen right behind it: a changed one hides rows, whatever is confirmed.
-- Not on another server, nor on one that was promoted under us: its WAL is not the one we read.
WITH now AS ({now})
UPDATE cdc_relay.guard g
   SET ceiling = greatest(g.ceiling, $3::pg_lsn), raised_at = now.at,
       seen_lsn = $4::pg_lsn, seen_at = to_timestamp($5::float8),
       settled_lsn = CASE WHEN g.next_lsn <= least($3::pg_lsn, $4::pg_lsn) THEN g.next_lsn ELSE g.settled_lsn END,
       settled_xid = CASE WHEN g.next_lsn <= least($3::pg_lsn, $4::pg_lsn) THEN g.next_xid ELSE g.settled_xid END,
       settled_at = CASE WHEN g.next_lsn <= least($3::pg_lsn, $4::pg_lsn) THEN g.next_at ELSE g.settled_at END,
       settled_rows = CASE WHEN g.next_lsn <= least($3::pg_lsn, $4::pg_lsn) THEN g.next_rows ELSE g.settled_rows END,
       next_lsn = CASE WHEN g.next_lsn <= least($3::pg_lsn, $4::pg_lsn) THEN now.lsn ELSE g.next_lsn END,
       next_xid = CASE WHEN g.next_lsn <= least($3::pg_lsn, $4::pg_lsn) THEN now.xid ELSE g.next_xid END,
       next_at = CASE WHEN g.next_lsn <= least($3::pg_lsn, $4::pg_lsn) THEN now.at ELSE g.next_at END,
       next_rows = CASE WHEN g.next_lsn <= least($3::pg_lsn, $4::pg_lsn) THEN now.rows ELSE g.next_rows END
  FROM now
 WHERE g.slot = $2::text AND g.system_identifier = now.system_identifier AND g.timeline = now.timeline
RETURNING g.slot

-- :accept
-- $1 slot, $2 problem, $3 to $6 from and to, as LSNs and times, $7 rows, $8 the command that closes it
INSERT INTO cdc_relay.gaps (slot, problem, from_lsn, to_lsn, from_time, to_time, row_estimate, replay)
VALUES ($1::text, $2::text, $3::pg_lsn, $4::pg_lsn, to_timestamp($5::float8), to_timestamp($6::float8),
        $7::bigint, $8::text)

-- :versions
SELECT coalesce(max(version), 0), coalesce(bool_or(version = 5), false)::text FROM cdc_relay.schema_version

-- :missing_rights
SELECT right_name || ' ON ' || table_name
  FROM (VALUES ('cdc_relay.guard', 'SELECT'), ('cdc_relay.guard', 'INSERT'), ('cdc_relay.guard', 'UPDATE'),
               ('cdc_relay.gaps', 'SELECT'), ('cdc_relay.gaps', 'INSERT')) AS needed (table_name, right_name)
 WHERE NOT has_table_privilege(table_name, right_name)
