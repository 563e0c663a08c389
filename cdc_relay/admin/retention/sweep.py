"""One pass over everything that has a time to stay: the lot, and the outbox tables one after the other.

Yields what was done with each, trouble included: one table's trouble is not another's.
What a pass needs is imported by the first pass, which a relay makes long after its start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

from cdc_relay.admin.retention.kept import KeptTable, kept_tables
from cdc_relay.admin.retention.swept import LOT, Swept, Tally
from cdc_relay.config import RelayConfig
from cdc_relay.errors import RelayError
from cdc_relay.sources.line import Line
from cdc_relay.target import conninfo_of, wanted_of

__all__ = ["Pause", "Sweep"]

Pause = Callable[[float], bool]  # so many seconds; True: go no further


class Sweep:
    """`pause` is asked between two steps. `on_removed` hears of each batch, with the table's name."""

    def __init__(
        self,
        config: RelayConfig,
        *,
        pause: Pause,
        on_removed: Callable[[str, int], None] = lambda label, count: None,
        dry_run: bool = False,
    ) -> None:
        self._config = config
        self._wanted = wanted_of(config)
        self._pause = pause
        self._on_removed = on_removed
        self._dry_run = dry_run

    def run(self) -> Iterator[Swept]:
        """RelayError where Postgres cannot be reached at all."""
        tables, keeps_lot = kept_tables(self._config), not self._config.retention.lot_seconds
        if keeps_lot and not tables:
            return
        from cdc_relay.admin.retention.session import is_usable, open_session

        with closing(open_session(conninfo_of(self._config), slot=self._wanted.slot)) as line:
            if not keeps_lot:
                yield self._explained(LOT, lambda tally: self._sweep_lot(line, tally))
            for table in tables:
                if self._pause(0) or not is_usable(line):  # whose trouble was said
                    return
                yield self._sweep_table(line, table)

    def _sweep_lot(self, line: Line, tally: Tally) -> Swept:
        from cdc_relay.admin.retention.lot_sweep import sweep_lot
        from cdc_relay.admin.retention.proof import read_evidence

        return sweep_lot(line, self._config, read_evidence(line, self._wanted), tally)

    def _sweep_table(self, line: Line, table: KeptTable) -> Swept:
        from cdc_relay.admin.retention.table_sweep import sweep_table

        return self._explained(table.label, lambda tally: sweep_table(line, self._wanted, table, tally))

    def _explained(self, label: str, sweep: Callable[[Tally], Swept]) -> Swept:
        tally = Tally(label, pause=self._pause, on_removed=self._on_removed, dry_run=self._dry_run)
        try:
            return sweep(tally)
        except RelayError as exc:
            from cdc_relay.admin.retention.troubles import explain

            return tally.swept(*explain(exc))
