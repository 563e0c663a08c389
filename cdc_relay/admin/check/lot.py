"""The lot, looked at: its version and rights, how full it is, and what waits for an operator. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cdc_relay.admin.check.finding import Finding, ok, warn
from cdc_relay.admin.check.lines import as_own, failure, open_line
from cdc_relay.config import LimitConfig, RelayConfig
from cdc_relay.errors import RelayError
from cdc_relay.parking.desk_text import size
from cdc_relay.parking.lot_line import LotLine
from cdc_relay.sources.remedy import shell, words, yaml_lines
from cdc_relay.target import parking_conninfo_of

__all__ = ["check_lot", "judge_usage"]

_FULL_SHARE = 0.8


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
