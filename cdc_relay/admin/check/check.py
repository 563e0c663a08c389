"""`cdc-relay check`: all sections, one after the other, each whatever became of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cdc_relay.admin.check.backfill import check_backfill
from cdc_relay.admin.check.certificates import check_kafka_certificates, check_postgres_certificates
from cdc_relay.admin.check.finding import Finding, in_order, warn
from cdc_relay.admin.check.guard import check_guard
from cdc_relay.admin.check.kafka import check_kafka
from cdc_relay.admin.check.lot import check_lot
from cdc_relay.admin.check.postgres import check_postgres
from cdc_relay.admin.check.retention import check_retention
from cdc_relay.config import RelayConfig, find_warnings
from cdc_relay.sources.remedy import words

__all__ = ["SECTIONS", "Section", "check_all", "check_beside_stream"]

Section = Callable[[RelayConfig], Iterator[Finding]]


def _check_config(config: RelayConfig) -> Iterator[Finding]:
    for text in find_warnings(config):
        yield warn("config", text, words("correct the file"))


# A new part of the check is one more function here, and its names in entries.py.
SECTIONS: tuple[Section, ...] = (
    _check_config,
    check_postgres,
    check_postgres_certificates,
    check_guard,
    check_backfill,
    check_lot,
    check_retention,
    check_kafka,
    check_kafka_certificates,
)


def check_all(config: RelayConfig) -> list[Finding]:
    return in_order([finding for section in SECTIONS for finding in section(config)])


def check_beside_stream(config: RelayConfig) -> Iterator[list[Finding]]:
    """Section by section, for a relay that streams: it has said itself what is odd in its file, and can replicate."""
    for section in SECTIONS:
        if section is _check_config:
            continue
        if section is check_postgres:
            yield list(check_postgres(config, tries_replication=False))
        else:
            yield list(section(config))
