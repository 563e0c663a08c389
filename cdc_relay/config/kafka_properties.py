"""librdkafka's properties: their values as librdkafka's strings, and the ones that the relay owns.

Knows property names only; builds no producer. What librdkafka itself refuses is left to librdkafka.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

__all__ = ["OWNED", "Conflict", "Owned", "find_conflicts", "normalise"]

Conflict = tuple[str, str]  # property, what is wrong with it

_TRUE, _FALSE = frozenset({"true", "t", "1"}), frozenset({"false", "f", "0"})
_BOOTSTRAP = ("bootstrap.servers", "metadata.broker.list")
_MOCK = "test.mock.num.brokers"


@dataclass(frozen=True, slots=True)
class Owned:
    """A property on which a promise rests; the values that keep the promise are accepted."""

    accepted: frozenset[str]
    setting: str
    reason: str

    def refusal(self) -> str:
        return f"owned by the relay ({self.setting}); remove it: {self.reason}"


_ACKS = Owned(frozenset({"all", "-1"}), "always all", "a row is confirmed once every in-sync replica has it")
_TIMEOUT = Owned(frozenset({"0"}), "always 0, without end", "an outage must not make a record fail")
_RETRIES = Owned(frozenset({"2147483647"}), "always 2147483647", "an outage must not make a record fail")
_IN_FLIGHT = Owned(frozenset("12345"), "at most 5", "an idempotent producer keeps order up to 5 requests in flight")
_IDEMPOTENCE = Owned(_TRUE, "always true", "without it a retry inside the client may reorder or repeat records")
_TRANSACTIONS = Owned(frozenset(), "never set", "the relay does not produce in Kafka transactions in this version")
_GAPLESS = Owned(_FALSE, "always false", "with it one refused record would break the producer for all")
_REPORTS = Owned(_FALSE, "always false", "a record is settled by its delivery report, so success must be reported too")
_CALLBACK = Owned(frozenset(), "sets its own", "it is a function of the client library, which a file cannot give")

OWNED = {
    "acks": _ACKS,
    "request.required.acks": _ACKS,
    "enable.idempotence": _IDEMPOTENCE,
    "message.timeout.ms": _TIMEOUT,
    "delivery.timeout.ms": _TIMEOUT,
    "retries": _RETRIES,
    "message.send.max.retries": _RETRIES,
    "max.in.flight": _IN_FLIGHT,
    "max.in.flight.requests.per.connection": _IN_FLIGHT,
    "transactional.id": _TRANSACTIONS,
    "enable.gapless.guarantee": _GAPLESS,
    "delivery.report.only.error": _REPORTS,
    **dict.fromkeys(("on_delivery", "dr_cb", "dr_msg_cb", "error_cb", "stats_cb", "throttle_cb", "logger"), _CALLBACK),
}


def normalise(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str() | int() | float():
            return str(value)
        case _:
            raise ValueError("expected one value; properties are flat: write a.b.c: value")


def find_conflicts(properties: Mapping[str, str]) -> Iterator[Conflict]:
    yield from _weaker_settings(properties)
    yield from _bootstrap_conflicts(properties)


def _weaker_settings(properties: Mapping[str, str]) -> Iterator[Conflict]:
    for name, value in properties.items():
        owned = OWNED.get(name)
        if owned and value.strip().lower() not in owned.accepted:
            yield name, owned.refusal()


def _bootstrap_conflicts(properties: Mapping[str, str]) -> Iterator[Conflict]:
    given = [name for name in _BOOTSTRAP if name in properties]
    if len(given) > 1:
        yield _BOOTSTRAP[1], f"another name of {_BOOTSTRAP[0]}, which is given too; remove one"
    elif given and not properties[given[0]].strip(", "):
        yield given[0], "must not be empty; expected host:port, several with commas"
    elif not given and _MOCK not in properties:
        yield _BOOTSTRAP[0], "missing; expected the brokers' host:port, several with commas"
