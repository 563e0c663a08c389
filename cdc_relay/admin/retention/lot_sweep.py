"""The lot's part of a pass: in the database that has it, by what the slot's database says."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta

from cdc_relay.admin.retention.lot import LotCut, count_resolved, may_remove_resolved, remove_resolved
from cdc_relay.admin.retention.proof import Evidence
from cdc_relay.admin.retention.session import open_session
from cdc_relay.admin.retention.swept import Swept, Tally
from cdc_relay.config import RelayConfig, quote_identifier
from cdc_relay.sources.line import Line
from cdc_relay.sources.schema import lot_grant
from cdc_relay.target import parking_conninfo_of

__all__ = ["sweep_lot"]

_PAUSE_SECONDS = 0.1  # between two batches: others come first


def sweep_lot(line: Line, config: RelayConfig, evidence: Evidence, tally: Tally) -> Swept:
    slot = evidence.facts.slot
    if slot is None:
        return tally.swept("there is no slot, so nobody knows what it has passed", "cdc-relay setup -c FILE")
    cut = LotCut(
        slot=config.source.slot,
        cutoff=evidence.server.mark.at - timedelta(seconds=config.retention.lot_seconds),
        restart_lsn=slot.restart_lsn,
        runs=[run for run, _ in evidence.runs],
    )
    if config.parking.dsn is None:
        return _sweep(line, cut, tally)
    conninfo = parking_conninfo_of(config)
    with closing(open_session(conninfo, slot=config.source.slot, setting="parking.dsn")) as elsewhere:
        return _sweep(elsewhere, cut, tally)


def _sweep(line: Line, cut: LotCut, tally: Tally) -> Swept:
    if not may_remove_resolved(line):
        role = quote_identifier(line.place.user)
        return tally.swept(f"role {role} may not remove records of the lot", lot_grant(role))
    if tally.dry_run:
        tally.removed = count_resolved(line, cut)
        return tally.swept()
    last_id, is_done = 0, False
    while not is_done:
        count, last_id = remove_resolved(line, cut, after_id=last_id)
        tally.add_removed(count)
        is_done = not last_id or tally.pause(_PAUSE_SECONDS)
    return tally.swept()
