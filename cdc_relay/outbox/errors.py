"""What a producer can get wrong, as one tree. Messages say what to do, and never carry a value of the event.

OutboxError
├── EventError               the event cannot be published as it is (also a ValueError)
├── TransactionError         no transaction is open (also a RuntimeError)
└── UnknownConnectionError   not a connection of these libraries, or not of this kind (also a TypeError)
"""

from __future__ import annotations

__all__ = ["EventError", "OutboxError", "TransactionError", "UnknownConnectionError"]


class OutboxError(Exception):
    """Raised before anything is written; as such for an Outbox that makes no sense."""


class EventError(OutboxError, ValueError):
    """The event cannot be published as it is."""


class TransactionError(OutboxError, RuntimeError):
    """The event would be committed apart from what it tells of."""


class UnknownConnectionError(OutboxError, TypeError):
    """Not a connection that the function called can write to."""
