"""Which rows of the lot an operator means, as a value and as SQL. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cdc_relay.parking.entry import Status

__all__ = ["LIVE", "Filter", "Params", "parse_key", "parse_since", "parse_text"]

Params = dict[str, object]

LIVE = (Status.RETRYING, Status.BEHIND, Status.SCHEDULED, Status.DEAD)

_AGO = re.compile(r"(\d{1,6}) *(s|min|m|h|d)")
_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400}
_SEARCHED = "concat_ws(E'\\n', last_error, error_code, event_id, event_type, correlation_id, tenant)"
_CONDITIONS = {
    "slot": "slot = %(slot)s",
    "statuses": "status = ANY (%(statuses)s)",
    "reasons": "reason = ANY (%(reasons)s)",
    "route": "route = %(route)s",
    "topic": "topic = %(topic)s",
    "key": "key = %(key)s",
    "error_class": "error_class = %(error_class)s",
    "since": "coalesce(last_error_at, parked_at) >= %(since)s",
    "ago": "coalesce(last_error_at, parked_at) >= now() - %(ago)s",
    "text": f"(strpos(lower({_SEARCHED}), lower(%(text)s)) > 0 OR position(convert_to(%(text)s, 'UTF8') IN value) > 0)",
}


@dataclass(frozen=True, slots=True)
class Filter:
    """Everything that is given must hold. `since` is a moment, or how long ago by the clock of Postgres."""

    slot: str | None = None  # None: of every slot
    statuses: tuple[str, ...] = ()  # none: any
    reasons: tuple[str, ...] = ()
    route: str | None = None
    topic: str | None = None
    key: bytes | None = None
    error_class: str | None = None
    since: datetime | timedelta | None = None
    text: str | None = None

    def where(self) -> tuple[str, Params]:
        params = self._params()
        return " AND ".join(_CONDITIONS[name] for name in params) or "true", params

    def _params(self) -> Params:
        given: Params = {
            "slot": self.slot,
            "statuses": [str(status) for status in self.statuses] or None,
            "reasons": [str(reason) for reason in self.reasons] or None,
            "route": self.route,
            "topic": self.topic,
            "key": self.key,
            "error_class": self.error_class,
            "ago" if isinstance(self.since, timedelta) else "since": self.since,
            "text": self.text,
        }
        return {name: value for name, value in given.items() if value is not None}


def parse_since(text: str) -> datetime | timedelta:
    if ago := _AGO.fullmatch(text.strip()):
        return timedelta(seconds=int(ago[1]) * _SECONDS[ago[2]])
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError("expected how long ago (30m, 2h, 7d) or a time (2026-01-31T08:00, UTC)") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def parse_key(text: str) -> bytes:
    r"""Text, or \x and hex digits for a key that is none."""
    if not text.startswith("\\x"):
        return parse_text(text).encode()
    try:
        return bytes.fromhex(text[2:])
    except ValueError:
        raise ValueError(r"after \x only pairs of hex digits make sense") from None


def parse_text(text: str) -> str:
    """A command line may have any bytes; Postgres wants UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("this is not UTF-8") from None
    return text
