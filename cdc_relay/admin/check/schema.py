"""What cdc-relay has in Postgres, looked at: the guard's tables beside the slot, and the lot. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing

from cdc_relay.admin.check.finding import Finding, fail, ok, warn
from cdc_relay.admin.check.lines import as_own, failure, open_line
from cdc_relay.config import LimitConfig, RelayConfig, quote_identifier
from cdc_relay.errors import RelayError
from cdc_relay.parking.desk_text import size
from cdc_relay.parking.lot_line import LotLine
from cdc_relay.sources.line import Line
from cdc_relay.sources.remedy import SETUP, shell, sql, words, yaml_lines
from cdc_relay.sources.schema import AT_SOURCE, grants
from cdc_relay.target import conninfo_of, parking_conninfo_of

__all__ = ["check_guard", "check_lot", "judge_usage"]

_FULL_SHARE = 0.8
_GUARD_TABLES = {"schema_version": ("SELECT",), "guard": ("SELECT", "INSERT", "UPDATE"), "gaps": ("SELECT", "INSERT")}
_RIGHTS = """
SELECT c.relname, r.name, has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, r.name)
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE']) AS r(name)
 WHERE n.nspname = 'cdc_relay' AND c.relkind = 'r'
"""


def check_guard(config: RelayConfig) -> Iterator[Finding]:
    """Silent where Postgres cannot be reached: that is another finding."""
    try:
        with closing(open_line(as_own(conninfo_of(config), config.source.slot))) as line:
            yield _judge_guard(_read_rights(line), line.place.user)
    except RelayError:
        return


def check_lot(config: RelayConfig) -> Iterator[Finding]:
    setting = "source.dsn" if config.parking.dsn is None else "parking.dsn"
    slot = config.source.slot
    conninfo = as_own(parking_conninfo_of(config), slot)
    if config.parking.dsn is None and not _answers(conninfo):
        return  # which is a finding already
    lot = LotLine(conninfo, setting=setting)
    try:
        lot.open()
        yield ok("lot", f"in the database of {setting}")
        usage = lot.query("usage", slot)
    except RelayError as exc:
        yield failure("lot", exc)
        return
    finally:
        lot.close()
    counts = {(status or b"").decode(): int(count or 0) for status, count, *_ in usage}
    yield from judge_usage(counts, sum(int(each or 0) for _, _, each, _ in usage), config.parking.limit)


def judge_usage(counts: Mapping[str, int], byte_count: int, limit: LimitConfig) -> Iterator[Finding]:
    records = sum(counts.values())
    found = f"{records:,} of {limit.records:,} records, {size(byte_count)} of {size(limit.bytes)}"
    if records < _FULL_SHARE * limit.records and byte_count < _FULL_SHARE * limit.bytes:
        yield ok("lot.size", found)
    else:
        more = f"parking: {{limit: {{records: {2 * limit.records}, bytes: {2 * limit.bytes}}}}}"
        see = shell("cdc-relay dlq stats -c FILE")
        yield warn("lot.size", found, see, words("publish or give up what is in it, or:"), yaml_lines(more))
    dead = counts.get("dead", 0)
    if dead:
        steps = shell("cdc-relay dlq list -c FILE"), words("then, once their cause is repaired (or dlq discard):")
        yield warn(
            "lot.dead", f"{dead:,} records", *steps, shell("cdc-relay dlq retry -c FILE --all --status dead --yes")
        )
    else:
        yield ok("lot.dead", "none")


def _answers(conninfo: str) -> bool:
    try:
        open_line(conninfo).close()
    except RelayError:
        return False
    return True


def _read_rights(line: Line) -> dict[str, set[str]]:
    """By table that is there: what our role may do with it."""
    found: dict[str, set[str]] = {}
    for table, right, is_granted in line.query(_RIGHTS):
        rights = found.setdefault(table or "", set())
        if is_granted == "t":
            rights.add(right or "")
    return found


def _judge_guard(rights: Mapping[str, set[str]], role: str) -> Finding:
    absent = [table for table in _GUARD_TABLES if table not in rights]
    if absent:
        tables = ", ".join(f"cdc_relay.{table}" for table in absent)
        return fail("guard", f"there is no {tables}", SETUP)
    missing = [
        f"{right} on cdc_relay.{table}"
        for table, needed in _GUARD_TABLES.items()
        for right in needed
        if right not in rights[table]
    ]
    if missing:
        return fail("guard", f"role {role} lacks {', '.join(missing)}", sql(grants(quote_identifier(role))))
    return ok("guard", f"version {max(AT_SOURCE)}")
