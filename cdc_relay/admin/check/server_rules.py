"""Settings and state of the Postgres server, judged. Pure: facts in, findings out."""

from __future__ import annotations

from collections.abc import Iterator

from cdc_relay.admin.check.finding import Finding, fail, ok, warn
from cdc_relay.admin.check.postgres_facts import OpenTransaction, PreparedTransaction, ServerFacts
from cdc_relay.config import quote_identifier
from cdc_relay.parking.desk_text import age, size
from cdc_relay.sources.remedy import Step, reload_setting, restart_setting, sql, words, yaml_lines

__all__ = ["judge_server", "judge_transactions"]

CLOCK_SECONDS = 5.0
OLD_SECONDS = 600.0
SMALL_BYTES = 1 << 30
LONG_TIMEOUT_SECONDS = 300.0
_ROOMY = "50GB"


def judge_server(facts: ServerFacts, *, timeout_seconds: float, has_slot: bool, is_read: bool) -> Iterator[Finding]:
    """`timeout_seconds`: source.wal_sender_timeout. `is_read`: somebody reads the slot, and so has a sender."""
    yield _judge_primary(facts)
    yield _judge_clock(facts)
    yield _judge_keep_size(facts)
    yield _judge_timeout(facts, timeout_seconds)
    if facts.idle_slot_seconds is not None:
        yield _judge_idle_timeout(facts.idle_slot_seconds)
    yield _judge_slots(facts, has_slot=has_slot)
    yield _judge_senders(facts, is_read=is_read)


def judge_transactions(facts: ServerFacts) -> Iterator[Finding]:
    name = "postgres.long_transactions"
    old = [each for each in facts.writers if each.seconds is not None and each.seconds >= OLD_SECONDS]
    hidden = [each for each in facts.writers if each.seconds is None]
    yield from (_old_writer(name, each) for each in old)
    if hidden and not old:
        yield _hidden_writers(name, hidden, facts.role)
    elif not old:
        yield ok(name, "none")
    aged = [each for each in facts.prepared if each.seconds >= OLD_SECONDS]
    yield from (_old_prepared(each) for each in aged)
    if not aged:
        yield ok("postgres.prepared_transactions", "none")


def _judge_primary(facts: ServerFacts) -> Finding:
    name = "postgres.primary"
    if facts.is_standby:
        fix = words(
            "name the primary's host in source.dsn; with several hosts there, add target_session_attrs=read-write"
        )
        return fail(name, "this server is a standby", fix)
    if facts.is_read_only:
        role = quote_identifier(facts.role)
        fix = sql(f"ALTER ROLE {role} SET default_transaction_read_only = off")
        return fail(name, f"sessions of role {role} are read-only here", fix)
    return ok(name, "takes writes")


def _judge_clock(facts: ServerFacts) -> Finding:
    name, skew = "postgres.clock", facts.skew_seconds
    if abs(skew) <= CLOCK_SECONDS:
        return ok(name, "this machine and the server agree")
    found = f"this machine is {age(abs(skew))} {'ahead of' if skew > 0 else 'behind'} the server"
    return warn(name, found, words("let both machines take their time from NTP: timedatectl set-ntp true"))


def _judge_keep_size(facts: ServerFacts) -> Finding:
    name = "postgres.max_slot_wal_keep_size"
    steps = (*reload_setting("max_slot_wal_keep_size", _ROOMY), words("or another size that the WAL's disk can spare"))
    if facts.keep_bytes is None:
        return warn(name, "no limit (-1)", *steps)
    if facts.keep_bytes < SMALL_BYTES:
        return warn(name, f"only {size(facts.keep_bytes)}", *steps)
    return ok(name, size(facts.keep_bytes))


def _judge_timeout(facts: ServerFacts, timeout_seconds: float) -> Finding:
    name = "postgres.wal_sender_timeout"
    found = f"{timeout_seconds:g} s in the relay's session ({facts.sender_timeout_seconds:g} s for others)"
    if timeout_seconds > LONG_TIMEOUT_SECONDS:
        return warn(name, found, yaml_lines("source: {wal_sender_timeout: 10s}"))
    return ok(name, found)


def _judge_idle_timeout(seconds: float) -> Finding:
    name = "postgres.idle_replication_slot_timeout"
    if seconds:
        found = f"a slot that nobody reads for {age(seconds)} is invalidated"
        return warn(name, found, *reload_setting("idle_replication_slot_timeout", "0"))
    return ok(name, "off")


def _judge_slots(facts: ServerFacts, *, has_slot: bool) -> Finding:
    name, found = "postgres.replication_slots", f"{facts.slot_count} of {facts.slot_limit} are taken"
    if has_slot or facts.slot_count < facts.slot_limit:
        return ok(name, found)
    return fail(name, found, *restart_setting("max_replication_slots", str(facts.slot_limit + 10)))


def _judge_senders(facts: ServerFacts, *, is_read: bool) -> Finding:
    name, found = "postgres.wal_senders", f"{facts.sender_count} of {facts.sender_limit} run"
    if is_read or facts.sender_count < facts.sender_limit:
        return ok(name, found)
    look = sql("SELECT pid, usename, application_name, client_addr, backend_start FROM pg_stat_replication")
    steps = restart_setting("max_wal_senders", str(facts.sender_limit + 10))
    return fail(name, found, *steps, words("or end one that nobody needs; these run:"), look)


def _old_writer(name: str, writer: OpenTransaction) -> Finding:
    who = f"role {writer.role}" + (f", {writer.application}" if writer.application else "")
    found = f"pid {writer.pid} ({who}) has been writing for {age(writer.seconds or 0)}"
    return warn(name, found, *_end_writer(writer.pid))


def _end_writer(pid: int) -> tuple[Step, ...]:
    look = f"SELECT usename, application_name, state, xact_start, query FROM pg_stat_activity WHERE pid = {pid}"
    return sql(look), words("let it commit, or end it:"), sql(f"SELECT pg_terminate_backend({pid})")


def _hidden_writers(name: str, hidden: list[OpenTransaction], role: str) -> Finding:
    return ok(
        name,
        f"{len(hidden)} open now, begun nobody knows when: role {quote_identifier(role)} may not see it"
        f" (GRANT pg_read_all_stats TO {quote_identifier(role)})",
    )


def _old_prepared(transaction: PreparedTransaction) -> Finding:
    gid = "'" + transaction.gid.replace("'", "''") + "'"
    found = f"{gid} of database {transaction.database} was prepared {age(transaction.seconds)} ago"
    fix = words(f"in database {transaction.database}, COMMIT PREPARED {gid}, or:")
    return warn("postgres.prepared_transactions", found, fix, sql(f"ROLLBACK PREPARED {gid}"))
