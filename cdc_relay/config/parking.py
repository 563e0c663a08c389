"""Where records wait that cannot be published, as the file spells it."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from cdc_relay.config.dsn import has_password
from cdc_relay.config.fields import Bytes, Count, Dsn, Secret, Topic, Within, fail
from cdc_relay.config.section import Section
from cdc_relay.config.units import format_count, format_size

__all__ = ["LimitConfig", "ParkingConfig"]

_GIB = 1 << 30
_LONELY = "without parking.dsn the lot is in source.dsn, with source.password; remove it, or add parking.dsn"


class LimitConfig(Section):
    """How much may be parked and undecided. At the limit the relay holds, and the slot keeps what follows."""

    records: Annotated[Count, AfterValidator(Within(1, 1_000_000_000, format_count))] = Field(
        default=100_000, description="Parked records that are retrying, behind, scheduled or dead."
    )
    bytes: Annotated[Bytes, AfterValidator(Within(1, 65_536 * _GIB, format_size))] = Field(
        default=_GIB, description="Their keys, values, headers and rows."
    )


class ParkingConfig(Section):
    """The lot: the table cdc_relay.parked_records, for records that cannot be published now, or ever."""

    dsn: Dsn | None = Field(
        default=None,
        repr=False,
        description="libpq connection string of the database that has the lot. Left out: source.dsn, with "
        "source.password. `cdc-relay setup` makes the table there.",
    )
    password: Secret = Field(default=None, description="Password beside parking.dsn, as source.password.")
    limit: LimitConfig = Field(default_factory=LimitConfig)
    dead_letter_topic: Topic | None = Field(
        default=None,
        description="Topic that gets a copy of every dead record, with the error in its headers. The row in the lot "
        "stays what operators act on. Left out: no copies.",
    )

    @model_validator(mode="after")
    def _one_password(self) -> ParkingConfig:
        if self.password is None:
            return self
        if self.dsn is None:
            fail([(("password",), _LONELY)])
        elif has_password(self.dsn):
            fail([(("password",), "parking.dsn has a password too; remove one of the two")])
        return self
