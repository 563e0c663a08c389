"""A backfill that was begun and not finished: until it is, `run` and `setup` refuse. Only looks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from cdc_relay.admin.check.finding import Finding, ok
from cdc_relay.admin.check.lines import failure, not_seen, reach
from cdc_relay.config import RelayConfig
from cdc_relay.errors import RefusedError, RelayError
from cdc_relay.sources.unfinished_backfill import refuse_unfinished_backfill

__all__ = ["check_backfill"]


def check_backfill(config: RelayConfig) -> Iterator[Finding]:
    """Silent where Postgres cannot be reached: that is another finding."""
    line = reach(config)
    if line is None:
        return
    with closing(line):
        try:
            refuse_unfinished_backfill(line, config.source.slot)
        except RefusedError as exc:
            yield failure("backfill", exc)
        except RelayError as exc:
            yield not_seen("backfill", exc)
        else:
            yield ok("backfill", "none is unfinished")
