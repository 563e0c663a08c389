"""Every error that cdc-relay raises on purpose, as one tree; adapters translate library errors into it.

RelayError                 exit 1   anything that has no better place
├── ConfigError            exit 2   the configuration file or the command line is wrong
├── RefusedError           exit 3   an operator has to act; carries the remedy
├── AwayError              exit 3   something is only away (with --no-wait; otherwise the relay waits)
│   └── SlotInUseError     exit 3   another process reads the slot: stand by
├── SourceError            exit 1   the replication line broke; the relay reconnects
├── SinkError              exit 1   the producer broke for good; the relay builds a new one
├── DecodeError            exit 1   bytes that are not what the protocol promises
├── LedgerError            exit 1   our own bookkeeping would have lied to Postgres
└── DrainError             exit 1   stopped before everything was settled
"""

from __future__ import annotations

__all__ = [
    "AwayError",
    "ConfigError",
    "DecodeError",
    "DrainError",
    "LedgerError",
    "RefusedError",
    "RelayError",
    "SinkError",
    "SlotInUseError",
    "SourceError",
]


class RelayError(Exception):
    """What happened, where, and what to do next; never a row's values."""

    exit_code = 1

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}\n  what to do: {self.remedy}" if self.remedy else self.message


class ConfigError(RelayError):
    exit_code = 2


class RefusedError(RelayError):
    exit_code = 3


class AwayError(RelayError):
    exit_code = 3


class SlotInUseError(AwayError):
    pass


class SourceError(RelayError):
    pass


class SinkError(RelayError):
    pass


class DecodeError(RelayError):
    pass


class LedgerError(RelayError):
    pass


class DrainError(RelayError):
    pass
