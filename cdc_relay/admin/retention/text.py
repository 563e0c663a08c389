"""What a pass did, as lines for people. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from cdc_relay.admin.retention.swept import Swept
from cdc_relay.parking.desk_text import safe

__all__ = ["lines"]


def lines(swept: Swept, *, dry_run: bool) -> Iterator[str]:
    yield f"{safe(swept.label)}: {'; '.join(_done(swept, dry_run)) or 'nothing to do'}"
    yield from (f"  note: {safe(note)}" for note in swept.notes)
    if swept.trouble:
        yield f"  trouble: {safe(swept.trouble)}"
        yield f"  what to do: {safe(swept.remedy)}"


def _done(swept: Swept, dry_run: bool) -> Iterator[str]:
    would = "would be " if dry_run else ""
    if swept.removed:
        more = "more than " if swept.is_more else ""
        yield f"{more}{swept.removed:,} row{'' if swept.removed == 1 else 's'} {would}removed"
    if swept.made:
        yield f"partitions {would}made: {', '.join(map(safe, swept.made))}"
    if swept.dropped:
        yield f"partitions {would}dropped: {', '.join(map(safe, swept.dropped))}"
    if swept.trouble and not swept.is_change:
        yield "nothing was done"
