"""How often and when a failed record is tried again, as the file spells it."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from cdc_relay.config.fields import Count, Preset, Seconds, Share, Within
from cdc_relay.config.section import Section
from cdc_relay.config.units import format_count, format_duration, format_share
from cdc_relay.delivery.backoff import PRESETS
from cdc_relay.model import Retry

__all__ = ["DeliveryRetryConfig", "RetryConfig"]

_DAY_SECONDS = 86_400.0
_Delay = Annotated[Seconds, AfterValidator(Within(0.01, 7 * _DAY_SECONDS, format_duration))]


class RetryConfig(Section):
    """Delays of min(base * 2^n, max), give or take jitter. What a route leaves out is as under delivery.retry."""

    preset: Preset | None = Field(
        default=None,
        description="Where to start from: `standard` (5s, 30m, 0.1, 5 retries) or `aggressive` (1s, 5m, 0.2, 3 "
        "retries); the other keys win over it. Left out: start from delivery.retry.",
    )
    base_seconds: _Delay | None = Field(
        default=None,
        validation_alias="base",
        serialization_alias="base",
        description="Delay before the first retry; it doubles each time. Left out: see preset.",
    )
    max_seconds: _Delay | None = Field(
        default=None,
        validation_alias="max",
        serialization_alias="max",
        description="The longest delay, before jitter. Left out: see preset.",
    )
    jitter: Annotated[Share, AfterValidator(Within(0.0, 1.0, format_share))] | None = Field(
        default=None,
        description="Share of a delay by which it is shortened or lengthened at random, so that failed records do not "
        "come back all at once. Left out: see preset.",
    )
    max_retries: Annotated[Count, AfterValidator(Within(0, 1000, format_count))] | None = Field(
        default=None,
        description="Retries before a record is dead. Only failures of the record itself count, never an outage. "
        "Left out: see preset.",
    )

    def over(self, inherited: Retry) -> Retry:
        """The given values, on top of the preset or else of `inherited`."""
        start = inherited if self.preset is None else PRESETS[self.preset]
        return Retry(
            base_seconds=start.base_seconds if self.base_seconds is None else self.base_seconds,
            max_seconds=start.max_seconds if self.max_seconds is None else self.max_seconds,
            jitter=start.jitter if self.jitter is None else self.jitter,
            max_retries=start.max_retries if self.max_retries is None else self.max_retries,
        )


class DeliveryRetryConfig(RetryConfig):
    """For every route that does not say otherwise: delays of min(base * 2^n, max), give or take jitter."""

    preset: Preset = Field(
        default="standard",
        description="Where to start from: `standard` (5s, 30m, 0.1, 5 retries) or `aggressive` (1s, 5m, 0.2, 3 "
        "retries); the other keys win over it.",
    )
