"""How records are handed out, waited for and tried again, as the file spells it."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from cdc_relay.config.fields import Bytes, Count, OnDead, Ordering, Seconds, Within, fail
from cdc_relay.config.retry import DeliveryRetryConfig
from cdc_relay.config.section import Section
from cdc_relay.config.units import format_count, format_duration, format_size

__all__ = ["DeliveryConfig", "WindowConfig"]

_MIB = 1 << 20
_HOUR_SECONDS = 3600.0


class WindowConfig(Section):
    """How much may be read from Postgres and not yet acknowledged by Kafka: the bound of the relay's memory."""

    records: Annotated[Count, AfterValidator(Within(1, 10_000_000, format_count))] = Field(
        default=20_000, description="Open records; bounds the bookkeeping of many small rows, about 1 kB each."
    )
    bytes: Annotated[Bytes, AfterValidator(Within(1, 64 << 30, format_size))] = Field(
        default=8 * _MIB,
        description="Open keys, values and headers. Bounds memory: base + 1 kB per open record + 1.25 times this "
        "+ 3 times the largest row, and 24 MiB where records have four headers or more; one record larger than the "
        "window still passes.",
    )


class DeliveryConfig(Section):
    """How records are handed out and waited for."""

    window: WindowConfig = Field(default_factory=WindowConfig)
    retry: DeliveryRetryConfig = Field(default_factory=DeliveryRetryConfig)
    ordering: Ordering = Field(
        default="relaxed",
        description="`strict`: later records of a key (and topic) wait in the lot for a failed one, and a NULL key is "
        "a failure. `relaxed`: they go on. For routes that do not say otherwise.",
    )
    on_dead: OnDead = Field(
        default="continue",
        description="Whether a strict key goes on (`continue`) behind a dead record or waits for an operator "
        "(`hold`, with ordering strict only). For routes that do not say otherwise.",
    )
    partial_outage_after_seconds: Annotated[Seconds, AfterValidator(Within(0.1, _HOUR_SECONDS, format_duration))] = (
        Field(
            default=30.0,
            validation_alias="partial_outage_after",
            serialization_alias="partial_outage_after",
            description="How long a topic's oldest open record may wait before Kafka is asked whether the topic or the "
            "whole cluster is away: one topic's records wait in the lot, a cluster is waited for.",
        )
    )
    drain_seconds: Annotated[Seconds, AfterValidator(Within(0.0, _HOUR_SECONDS, format_duration))] = Field(
        default=30.0,
        validation_alias="drain",
        serialization_alias="drain",
        description="How long a stop waits for open records. Keep it below the time after which your orchestrator "
        "kills; what is open then is delivered again, not lost.",
    )
    release_line_after_seconds: Annotated[Seconds, AfterValidator(Within(0.1, _HOUR_SECONDS, format_duration))] = Field(
        default=60.0,
        validation_alias="release_line_after",
        serialization_alias="release_line_after",
        description="How long to hold with a full window before the replication line is closed until Kafka answers; "
        "a reader that holds the line keeps Postgres from shutting down.",
    )

    @model_validator(mode="after")
    def _hold_needs_order(self) -> DeliveryConfig:
        if self.on_dead == "hold" and self.ordering != "strict":
            fail([(("on_dead",), "hold needs delivery.ordering: strict; or set both in the routes that want it")])
        return self
