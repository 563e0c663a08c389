-- The SQL of the running relay's lot, in named blocks: a line "-- :name", then what it is for, then the statement.
-- Blocks named in {braces} are put in before anything is run; {fields} of park_row and mark_row become parameters.
-- Everything but bytea comes back cast to text (Line.query_raw).

-- :settings
-- Durable means on disk: a role's synchronous_commit = off must not settle anything. Every statement has its index:
-- the planner's own choice took twice as long for the heads of 100,000 records (280 against 130 ms).
SELECT set_config('client_encoding', 'UTF8', false), set_config('timezone', 'UTC', false),
       set_config('datestyle', 'ISO', false), set_config('default_transaction_isolation', 'read committed', false),
       set_config('statement_timeout', '30s', false), set_config('lock_timeout', '3s', false),
       set_config('idle_in_transaction_session_timeout', '60s', false), set_config('jit', 'off', false),
       set_config('enable_seqscan', 'off', false),
       set_config('synchronous_commit', CASE current_setting('synchronous_commit')
                                        WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false)

-- :versions
SELECT coalesce(max(version), 0)::text, coalesce(bool_or(version = 7), false)::text,
       current_setting('transaction_read_only')
  FROM cdc_relay.schema_version

-- :missing_rights
SELECT right_name || ' ON ' || table_name
  FROM unnest(ARRAY['cdc_relay.parked_records', 'cdc_relay.runs']) AS table_name,
       unnest(ARRAY['SELECT', 'INSERT', 'UPDATE']) AS right_name
 WHERE NOT has_table_privilege(table_name, right_name)

-- :park
-- $1 slot; {rows} are park_row. What is there already stays as it is, edited or not.
INSERT INTO cdc_relay.parked_records (
    slot, status, reason, outbox, commit_lsn, ordinal, commit_time, xid, route, topic, key, value, headers, partition,
    record_time, columns, strict, hold_dead, size_bytes, event_id, event_type, correlation_id, tenant, max_attempts,
    first_failed_at, last_error_at, last_error, error_code, error_class, remedy, next_retry_at, scheduled_at,
    run, run_row)
SELECT * FROM (VALUES {rows}) AS new (slot, status)
 WHERE status IS NOT NULL
ON CONFLICT DO NOTHING
RETURNING size_bytes::text

-- :park_row
($1::text, {status}::text, {reason}::text, {outbox}::text, {commit_lsn}::pg_lsn, {ordinal}::int,
 {commit_time}::timestamptz, {xid}::bigint, {route}::text, {topic}::text, {key}::bytea, {value}::bytea,
 {headers}::jsonb, {partition}::int, coalesce({record_time}::timestamptz, now()), {columns}::json,
 {strict}::boolean, {hold_dead}::boolean, {size_bytes}::bigint, {event_id}::text, {event_type}::text,
 {correlation_id}::text, {tenant}::text, {max_attempts}::int, CASE WHEN {error_code}::text IS NOT NULL THEN now() END,
 CASE WHEN {error_code}::text IS NOT NULL THEN now() END, {last_error}::text, {error_code}::text, {error_class}::text,
 {remedy}::text, now() + {retry_seconds}::float8 * interval '1 second', {scheduled_at}::timestamptz, {run}::text,
 {run_row}::bytea)

-- :announce
-- $1 slot
SELECT pg_notify('cdc_relay_lot', $1::text)

-- :held
-- The strict record p waits: an earlier one of its key is live. A scheduled one neither holds nor is held.
p.strict AND p.scheduled_at IS NULL AND EXISTS (
    SELECT FROM cdc_relay.parked_records e
     WHERE e.slot = p.slot AND e.topic = p.topic AND sha256(e.key) = sha256(p.key) AND e.key = p.key
       AND e.strict AND e.scheduled_at IS NULL AND e.status IN ('retrying', 'behind', 'dead')
       AND (e.status <> 'dead' OR e.hold_dead)
       AND (e.commit_lsn, e.ordinal) < (p.commit_lsn, p.ordinal))

-- :held_by_failure
-- The strict record p waits for its topic, and an earlier one of its key for something else.
p.strict AND p.scheduled_at IS NULL AND EXISTS (
    SELECT FROM cdc_relay.parked_records e
     WHERE e.slot = p.slot AND e.topic = p.topic AND sha256(e.key) = sha256(p.key) AND e.key = p.key
       AND e.strict AND e.scheduled_at IS NULL AND e.status IN ('retrying', 'behind', 'dead')
       AND (e.status <> 'dead' OR e.hold_dead)
       AND (e.status <> 'retrying' OR e.reason <> 'topic_closed' OR e.claimed_at IS NOT NULL)
       AND (e.commit_lsn, e.ordinal) < (p.commit_lsn, p.ordinal))

-- :candidate
p.id, p.attempts, p.status, p.size_bytes, p.commit_lsn, p.ordinal

-- :take
-- The end of every claim: compare-and-set on attempts and status, up to $3 bytes but at least one. A copy is no attempt.
chosen AS (
    SELECT id, attempts, status, due_at, commit_lsn, ordinal, sum(size_bytes) OVER w - size_bytes AS bytes_before
      FROM candidates WINDOW w AS (ORDER BY due_at, commit_lsn, ordinal, id)
), claimed AS (
    UPDATE cdc_relay.parked_records p
       SET attempts = p.attempts + CASE p.status WHEN 'dead' THEN 0 ELSE 1 END, claimed_at = now()
      FROM chosen c
     WHERE c.bytes_before < $3::bigint AND p.id = c.id AND p.attempts = c.attempts AND p.status = c.status
       AND p.claimed_at IS NULL
    RETURNING p.*, c.due_at
)
SELECT id::text, attempts::text, max_attempts::text, status, reason, outbox, commit_lsn::text, ordinal::text,
       (extract(epoch FROM commit_time) * 1000000)::bigint::text, route, topic, key, value, headers::text,
       partition::text, floor(extract(epoch FROM record_time) * 1000)::bigint::text, columns::text, strict::text,
       hold_dead::text, size_bytes::text, (scheduled_at IS NOT NULL)::text, suspicion::text, error_class, error_code,
       last_error, xid::text, event_id, event_type, correlation_id, tenant
  FROM claimed k ORDER BY k.due_at, k.commit_lsn, k.ordinal, k.id

-- :claim_due
-- $1 slot, $2 limit, $3 bytes, $4 closed topics. Rows that an operator has locked are for the next time.
WITH retries AS (
    SELECT {candidate}, p.next_retry_at AS due_at FROM cdc_relay.parked_records p
     WHERE p.slot = $1::text AND p.status = 'retrying' AND p.next_retry_at <= now() AND p.claimed_at IS NULL
       AND (p.topic IS NULL OR NOT $4::jsonb ? p.topic) AND NOT ({held})
     ORDER BY p.next_retry_at, p.commit_lsn, p.ordinal LIMIT $2::int FOR UPDATE SKIP LOCKED
), schedules AS (
    SELECT {candidate}, p.scheduled_at AS due_at FROM cdc_relay.parked_records p
     WHERE p.slot = $1::text AND p.status = 'scheduled' AND p.scheduled_at <= now() AND p.claimed_at IS NULL
       AND (p.topic IS NULL OR NOT $4::jsonb ? p.topic)
     ORDER BY p.scheduled_at, p.commit_lsn, p.ordinal LIMIT $2::int FOR UPDATE SKIP LOCKED
), candidates AS (
    SELECT * FROM (SELECT * FROM retries UNION ALL SELECT * FROM schedules) AS due
     ORDER BY due_at, commit_lsn, ordinal LIMIT $2::int
), {take}

-- :claim_copies
-- $1 slot, $2 limit, $3 bytes
WITH candidates AS (
    SELECT {candidate}, p.last_error_at AS due_at FROM cdc_relay.parked_records p
     WHERE p.slot = $1::text AND p.status = 'dead' AND p.copied_at IS NULL AND p.claimed_at IS NULL
       AND (p.next_retry_at IS NULL OR p.next_retry_at <= now())
     ORDER BY p.last_error_at, p.commit_lsn, p.ordinal LIMIT $2::int FOR UPDATE SKIP LOCKED
), {take}

-- :claim_topic
-- $1 slot, $2 limit, $3 bytes, $4 topic, $5 how many to look at: with a hundred thousand of one strict key behind a
-- failed one, looking at each would cost a second per claim. Without a join: before the first ANALYZE the table looks
-- empty to the planner, and a join took 10 s of 50,000 rows, this takes 40 ms. Several of a key come in order: who is
-- locked by an operator is waited for, not passed over.
WITH oldest AS MATERIALIZED (
    SELECT {candidate}, p.slot, p.topic, p.key, p.strict, p.scheduled_at FROM cdc_relay.parked_records p
     WHERE p.slot = $1::text AND p.topic = $4::text AND p.status = 'retrying' AND p.reason = 'topic_closed'
       AND p.claimed_at IS NULL
     ORDER BY p.commit_lsn, p.ordinal LIMIT $5::bigint
), free AS (
    SELECT p.id FROM oldest p WHERE NOT ({held_by_failure}) ORDER BY p.commit_lsn, p.ordinal LIMIT $2::int
), candidates AS (
    SELECT {candidate}, NULL::timestamptz AS due_at FROM cdc_relay.parked_records p
     WHERE p.id = ANY (ARRAY(SELECT id FROM free))
       AND p.status = 'retrying' AND p.reason = 'topic_closed' AND p.claimed_at IS NULL
       FOR UPDATE
), {take}

-- :claim_key
-- $1 slot, $2 limit, $3 bytes, $4 topic, $5 key. In order, up to the first that is not to be published yet; none is
-- passed over because somebody has it locked (an error then). What waited for the topic may go: it is open when asked.
WITH live AS (
    SELECT {candidate}, p.claimed_at IS NULL AND p.status <> 'dead'
           AND (p.status = 'behind' OR p.reason = 'topic_closed' OR coalesce(p.next_retry_at <= now(), false))
           AS is_ready
      FROM cdc_relay.parked_records p
     WHERE p.slot = $1::text AND p.topic = $4::text AND sha256(p.key) = sha256($5::bytea) AND p.key = $5::bytea
       AND p.strict AND p.scheduled_at IS NULL AND p.status IN ('retrying', 'behind', 'dead')
       AND (p.status <> 'dead' OR p.hold_dead)
     ORDER BY p.commit_lsn, p.ordinal LIMIT $2::int FOR UPDATE NOWAIT
), ready AS (
    SELECT *, bool_and(is_ready) OVER (ORDER BY commit_lsn, ordinal, id) AS is_open FROM live
), candidates AS (
    SELECT *, NULL::timestamptz AS due_at FROM ready WHERE is_open
), {take}

-- :mark
-- $1 slot; {rows} are mark_row. Only what is still claimed with these attempts. A new
-- death is copied anew: the record may have been edited since the last one. The first try of a record that was parked
-- for another reason than a failure is no retry.
UPDATE cdc_relay.parked_records p
   SET claimed_at = NULL,
       status = CASE WHEN m.outcome = 'published' THEN 'published' WHEN m.outcome = 'dropped' THEN 'discarded'
                     WHEN m.outcome <> 'failed' THEN p.status
                     WHEN m.retry_seconds IS NULL THEN 'dead' ELSE 'retrying' END,
       reason = CASE m.outcome WHEN 'failed' THEN 'failure' ELSE p.reason END,
       attempts = p.attempts - CASE WHEN m.outcome = 'released' AND p.status <> 'dead' THEN 1
                                    WHEN m.outcome = 'failed' AND p.reason <> 'failure' THEN 1 ELSE 0 END,
       published_at = CASE m.outcome WHEN 'published' THEN now() ELSE p.published_at END,
       copied_at = CASE m.outcome WHEN 'copied' THEN now() WHEN 'failed' THEN NULL ELSE p.copied_at END,
       next_retry_at = CASE m.outcome
                       WHEN 'released' THEN coalesce(now() + m.retry_seconds * interval '1 second', p.next_retry_at)
                       WHEN 'failed' THEN now() + m.retry_seconds * interval '1 second'
                       WHEN 'copy_failed' THEN now() + coalesce(m.retry_seconds, 0) * interval '1 second' END,
       first_failed_at = CASE m.outcome WHEN 'failed' THEN coalesce(p.first_failed_at, now())
                         ELSE p.first_failed_at END,
       last_error_at = CASE m.outcome WHEN 'failed' THEN now() ELSE p.last_error_at END,
       last_error = CASE m.outcome WHEN 'failed' THEN m.last_error ELSE p.last_error END,
       error_code = CASE m.outcome WHEN 'failed' THEN m.error_code ELSE p.error_code END,
       error_class = CASE m.outcome WHEN 'failed' THEN m.error_class ELSE p.error_class END,
       remedy = CASE m.outcome WHEN 'failed' THEN m.remedy ELSE p.remedy END,
       topic = CASE WHEN m.has_record THEN m.topic ELSE p.topic END,
       key = CASE WHEN m.has_record THEN m.key ELSE p.key END,
       value = CASE WHEN m.has_record THEN m.value ELSE p.value END,
       headers = CASE WHEN m.has_record THEN m.headers ELSE p.headers END
  FROM (VALUES {rows}) AS m (id, attempts, outcome, retry_seconds, last_error, error_code, error_class, remedy,
                             has_record, topic, key, value, headers)
 WHERE p.id = m.id AND p.slot = $1::text AND p.attempts = m.attempts AND p.claimed_at IS NOT NULL
RETURNING p.id::text, p.status, p.size_bytes::text

-- :mark_row
({id}::bigint, {attempts}::int, {outcome}::text, {retry_seconds}::float8, {last_error}::text, {error_code}::text,
 {error_class}::text, {remedy}::text, {has_record}::boolean, {topic}::text, {key}::bytea, {value}::bytea,
 {headers}::jsonb)

-- :usage
-- $1 slot. From the index alone where vacuum has been: status, rows, bytes, age of the oldest
SELECT status, count(*)::text, sum(size_bytes)::text,
       greatest(extract(epoch FROM clock_timestamp() - min(parked_at)), 0)::text
  FROM cdc_relay.parked_records
 WHERE slot = $1::text AND status IN ('retrying', 'behind', 'scheduled', 'dead')
 GROUP BY status

-- :heads
-- $1 slot. The oldest of each strict key that makes later ones wait; what waits for its topic waits for nothing else
SELECT DISTINCT ON (topic, sha256(key)) topic, key, CASE reason WHEN 'topic_closed' THEN 'behind' ELSE status END
  FROM cdc_relay.parked_records
 WHERE slot = $1::text AND topic IS NOT NULL AND key IS NOT NULL AND strict AND scheduled_at IS NULL
   AND status IN ('retrying', 'behind', 'dead') AND (status <> 'dead' OR hold_dead)
 ORDER BY topic, sha256(key), commit_lsn, ordinal

-- :waiting_topics
-- $1 slot. From topic to topic in the index, not from row to row
WITH RECURSIVE waiting AS (
    SELECT min(topic) AS topic FROM cdc_relay.parked_records
     WHERE slot = $1::text AND status = 'retrying' AND reason = 'topic_closed'
    UNION ALL
    SELECT (SELECT min(p.topic) FROM cdc_relay.parked_records p
             WHERE p.slot = $1::text AND p.status = 'retrying' AND p.reason = 'topic_closed' AND p.topic > w.topic)
      FROM waiting w WHERE w.topic IS NOT NULL
)
SELECT topic FROM waiting WHERE topic IS NOT NULL

-- :due_seconds
-- $1 slot, $2 whether dead records are copied. What an earlier record holds is not due.
WITH due AS (
    (SELECT p.next_retry_at AS due_at FROM cdc_relay.parked_records p
      WHERE p.slot = $1::text AND p.status = 'retrying' AND p.next_retry_at IS NOT NULL AND p.claimed_at IS NULL
        AND NOT ({held})
      ORDER BY p.next_retry_at LIMIT 1)
    UNION ALL
    (SELECT scheduled_at FROM cdc_relay.parked_records
      WHERE slot = $1::text AND status = 'scheduled' AND claimed_at IS NULL ORDER BY scheduled_at LIMIT 1)
    UNION ALL
    (SELECT next_retry_at FROM cdc_relay.parked_records
      WHERE $2::boolean AND slot = $1::text AND status = 'dead' AND copied_at IS NULL AND claimed_at IS NULL
      ORDER BY next_retry_at LIMIT 1)
    UNION ALL
    (SELECT now() FROM cdc_relay.parked_records
      WHERE $2::boolean AND slot = $1::text AND status = 'dead' AND copied_at IS NULL AND claimed_at IS NULL
        AND next_retry_at IS NULL LIMIT 1)
)
SELECT greatest(extract(epoch FROM due_at - clock_timestamp()), 0)::text
  FROM due WHERE isfinite(due_at) ORDER BY due_at LIMIT 1

-- :release
-- $1 slot, $2 whether the run that had claimed them died, $3 ids that are rightly claimed
UPDATE cdc_relay.parked_records
   SET claimed_at = NULL, attempts = greatest(attempts - CASE status WHEN 'dead' THEN 0 ELSE 1 END, 0),
       suspicion = suspicion + $2::boolean::int
 WHERE slot = $1::text AND claimed_at IS NOT NULL AND NOT $3::jsonb @> to_jsonb(id)

-- :renew
-- $1 slot, $2 ids. Still out, however long the broker takes: for the tools a claim of a minute ago is a dead one.
UPDATE cdc_relay.parked_records SET claimed_at = now()
 WHERE slot = $1::text AND claimed_at IS NOT NULL AND $2::jsonb @> to_jsonb(id)

-- :bury
-- $1 slot, $2 id, $3 why. A row that was changed by hand so that it cannot be read: it must not stop the others.
UPDATE cdc_relay.parked_records
   SET status = 'dead', reason = 'failure', claimed_at = NULL, copied_at = now(), last_error_at = now(),
       first_failed_at = coalesce(first_failed_at, now()), error_class = 'permanent', error_code = 'unreadable_row',
       last_error = $3::text, remedy = 'headers and columns of this row are not what docs/parking.md says: correct them by'
                                       ' SQL, or cdc-relay dlq discard'
 WHERE slot = $1::text AND id = $2::bigint

-- :wake
-- $1 slot. A retry without a time would wait for ever, unless its topic wakes it.
UPDATE cdc_relay.parked_records SET next_retry_at = now()
 WHERE slot = $1::text AND status = 'retrying' AND next_retry_at IS NULL AND reason <> 'topic_closed'

-- :identities
-- $1 slot, $2 the slot's confirmed LSN
SELECT outbox, commit_lsn::text, ordinal::text, (extract(epoch FROM commit_time) * 1000000)::bigint::text
  FROM cdc_relay.parked_records
 WHERE slot = $1::text AND commit_lsn >= $2::pg_lsn AND run IS NULL

-- :last_run
-- $1 slot, $2 when this run began. The run before this one: whether it died, and which outboxes it read. Locked until
-- this run is written down.
SELECT (NOT ended)::text, outboxes::text FROM cdc_relay.runs
 WHERE slot = $1::text AND began_at <> $2::timestamptz FOR UPDATE

-- :begin_run
-- $1 slot, $2 when this run began, $3 confirmed LSN, $4 outboxes. Repeated by the same run it counts nothing again, and it has
-- nothing in its hands. Whoever was noted when another run died is a suspect.
INSERT INTO cdc_relay.runs AS r (slot, began_at, confirmed_lsn, outboxes)
VALUES ($1::text, $2::timestamptz, $3::pg_lsn, $4::jsonb)
ON CONFLICT (slot) DO UPDATE
   SET deaths = CASE WHEN r.confirmed_lsn <> excluded.confirmed_lsn OR r.ended THEN 0
                     WHEN r.began_at = excluded.began_at THEN r.deaths ELSE r.deaths + 1 END,
       suspects = CASE WHEN r.note IS NULL OR r.began_at = excluded.began_at THEN r.suspects
                       ELSE r.suspects || jsonb_build_object(r.note, coalesce((r.suspects ->> r.note)::int, 0) + 1) END,
       note = NULL,
       confirmed_lsn = excluded.confirmed_lsn, began_at = excluded.began_at, ended = false,
       outboxes = excluded.outboxes
RETURNING deaths::text, suspects::text

-- :open_note
-- $1 slot, $2 this run, $3 the record's identity, as JSON; with a number behind it: the first of so many
UPDATE cdc_relay.runs SET note = $3::text WHERE slot = $1::text AND began_at = $2::timestamptz RETURNING slot

-- :close_note
-- $1 slot, $2 this run. Processed: earlier deaths were not its fault
UPDATE cdc_relay.runs SET suspects = suspects - coalesce(note, ''), note = NULL
 WHERE slot = $1::text AND began_at = $2::timestamptz

-- :forget_handfuls
-- $1 slot, $2 this run. Of the suspects, those that are the first of several
UPDATE cdc_relay.runs
   SET suspects = (SELECT coalesce(jsonb_object_agg(key, value), jsonb_build_object()) FROM jsonb_each(suspects)
                    WHERE jsonb_array_length(key::jsonb) = 4)
 WHERE slot = $1::text AND began_at = $2::timestamptz

-- :end_run
-- $1 slot, $2 this run: another may have taken over since. One that ends in order in the middle of a record did not die
-- of it, and does not clear it either.
UPDATE cdc_relay.runs SET ended = true, note = NULL WHERE slot = $1::text AND began_at = $2::timestamptz
