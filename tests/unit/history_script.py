"""Histories written by hand, and what the oracle finds in them."""

from __future__ import annotations

from tests.fixtures.history import Delivery, History, Incident, ParkedRow, Report

__all__ = ["TOPIC", "Script", "fault_names"]

TOPIC = "orders"


class Script:
    """A history written by hand: events a1, a2 … of key a, and their deliveries one after the other."""

    def __init__(self) -> None:
        self.history = History()
        self._offset = 0

    def commit(self, *names: str, upper_lsn: int | None = None) -> Script:
        for name in names:
            self.history.committed(name, name[0], int(name[1:]), upper_lsn=upper_lsn)
        return self

    def roll_back(self, *names: str) -> Script:
        for name in names:
            self.history.rolled_back(name, name[0])
        return self

    def deliver(
        self,
        *names: str,
        at_ms: int | None = 0,
        partition: int = 0,
        key: str | None = None,
        is_intact: bool = True,
        run: str | None = None,
    ) -> Script:
        for name in names:
            delivery = Delivery(name, key or name[0], TOPIC, partition, self._offset, at_ms, is_intact, run)
            self.history.delivered(delivery)
            self._offset += 1
        return self

    def sample(self, confirmed_lsn: int, *, at_ms: float, restart_lsn: int = 0) -> Script:
        self.history.sampled(confirmed_lsn, at_ms, restart_lsn=restart_lsn)
        return self

    def suffer(self, name: str, from_ms: float, to_ms: float, **excuse: bool) -> Script:
        self.history.suffered(Incident(name, from_ms, to_ms, **excuse))
        return self

    def park(self, **statuses: str) -> Script:
        self.history.found_parked(ParkedRow(name, status) for name, status in statuses.items())
        return self

    @property
    def report(self) -> Report:
        return self.history.report()


def fault_names(script: Script) -> set[str]:
    return set(script.report.faults)
