"""How long rows stay, as the file spells it: of the lot, of the outbox tables, and whether months are partitions."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer

from cdc_relay.config.address import OFF
from cdc_relay.config.fields import EditorSchema, Flag, Kind, Seconds, Within
from cdc_relay.config.section import Section
from cdc_relay.config.units import DURATION_PATTERN, format_duration, parse_duration

__all__ = ["FOREVER", "Keep", "RetentionConfig"]

FOREVER = 0.0  # off: nothing is removed, and so the longest of all
_HOUR_SECONDS, _DAY_SECONDS = 3600.0, 86_400.0


def _parse(value: object) -> float:
    if value is False or value == OFF:  # YAML 1.1 reads a bare off as false
        return FOREVER
    try:
        seconds = parse_duration(value if isinstance(value, str) else None)  # 0 would be for ever without a word
    except ValueError:
        raise ValueError("expected a duration with its unit, such as 30d or 12h, or off") from None
    if not seconds:
        raise ValueError("nothing can be removed at once; give a duration of an hour or more, or off")
    return seconds


def _spell(seconds: float) -> str:
    return OFF if seconds == FOREVER else format_duration(seconds)


class _WithinOrOff(Within):
    def __call__(self, value: float) -> float:  # type: ignore[override]  # of all numbers only durations come here
        return value if value == FOREVER else Within.__call__(self, value)


Keep: TypeAlias = Annotated[
    float,
    BeforeValidator(_parse),
    AfterValidator(_WithinOrOff(_HOUR_SECONDS, 3650 * _DAY_SECONDS, format_duration)),
    PlainSerializer(_spell),
    EditorSchema({"type": ["string", "boolean"], "pattern": rf"^(off|{DURATION_PATTERN}|.*\$\{{.*)$"}),
    Kind("duration or off", "h, d"),
]


class RetentionConfig(Section):
    """What the relay removes, beside its work and in small steps (docs/retention.md)."""

    lot_seconds: Keep = Field(
        default=30 * _DAY_SECONDS,
        validation_alias="lot",
        serialization_alias="lot",
        description="How long a record stays in the lot after it was published, discarded or cancelled. Dead ones and "
        "those that wait stay until somebody decides. `off` keeps all.",
    )
    outbox_seconds: Keep = Field(
        default=FOREVER,
        validation_alias="outbox",
        serialization_alias="outbox",
        description="How long rows stay in the outbox tables, by `columns.timestamp`, else `created_at`. None goes "
        "that is not surely published or parked. What is removed cannot be replayed. `off` keeps all.",
    )
    partitions: Flag = Field(
        default=False,
        description="For outbox tables that are partitioned by month on that column: make this month and the next "
        "two; where rows do not stay for ever, drop whole months that are older, instead of removing rows.",
    )
    every_seconds: Annotated[Seconds, AfterValidator(Within(1.0, 7 * _DAY_SECONDS, format_duration))] = Field(
        default=_HOUR_SECONDS,
        validation_alias="every",
        serialization_alias="every",
        description="How often the relay that reads the slot looks; the first time after a minute.",
    )
