"""The schema cdc_relay: its numbered scripts, which database has which of them, and the rights that `run` needs. Pure.

The lot may be in a database of its own (parking.dsn); guard and replays are always beside the slot.
"""

from __future__ import annotations

__all__ = ["AT_LOT", "AT_SOURCE", "NEWEST", "SCHEMA_SCRIPTS", "grants", "lot_grant"]

SCHEMA_SCRIPTS = {
    3: "003_schema.sql",
    4: "004_parking.sql",
    5: "005_guard.sql",
    6: "006_replays.sql",
    7: "007_parked_replays.sql",
    8: "008_closed_gaps.sql",
}  # by the number that each leaves in cdc_relay.schema_version
AT_SOURCE = (3, 5, 6, 8)
AT_LOT = (3, 4, 7)
NEWEST = max(SCHEMA_SCRIPTS)


def grants(role: str) -> str:
    """All that `run` needs in the schema, at the source and at the lot. `role` as SQL writes it."""
    return (
        f"GRANT USAGE ON SCHEMA cdc_relay TO {role};"
        f" GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA cdc_relay TO {role}"
    )


def lot_grant(role: str) -> str:
    """What `run` needs where the lot is, to remove records that are done with (retention.lot)."""
    return f"GRANT DELETE ON cdc_relay.parked_records TO {role}"
