"""The queries that several panels share. A standby exposes neither lag nor lot: `largest` shows the one that reads."""

from __future__ import annotations

__all__ = [
    "BY_TOPIC",
    "EACH",
    "IN_OUTBOX",
    "OURS",
    "RATE",
    "STATES",
    "increase_by",
    "largest",
    "of_process",
    "quantile",
    "rate_by",
    "recorded",
    "state_numbers",
]

STATES = ("streaming", "standby", "starting", "waiting", "holding", "released", "stopping")

OURS = 'service=~"$service"'
BY_TOPIC = f'{OURS},outbox=~"$outbox",topic=~"$topic"'
IN_OUTBOX = f'{OURS},outbox=~"$outbox"'
RATE = "[$__rate_interval]"


def rate_by(metric: str, labels: str = "service", matchers: str = OURS) -> str:
    return f"sum by ({labels}) (rate({metric}{{{matchers}}}{RATE}))"


def increase_by(metric: str, labels: str, matchers: str) -> str:
    """In 15 minutes, with what a series began with: neither rate() nor increase() sees that. As in rules.yml."""
    series = f"{metric}{{{matchers}}}"
    young = f"{series} unless last_over_time({series}[5m] offset 15m)"
    return f"sum by ({labels}) (({young}) or increase({series}[15m]))"


def recorded(name: str) -> str:
    """A series that rules.yml records."""
    return f"service:{name}{{{OURS}}}"


def largest(metric: str, labels: str = "service", matchers: str = OURS) -> str:
    return f"max by ({labels}) ({metric}{{{matchers}}})"


def quantile(share: float) -> str:
    buckets = rate_by("outbox_publish_latency_seconds_bucket", "service, le", IN_OUTBOX)
    return f"histogram_quantile({share}, {buckets})"


def state_numbers() -> str:
    """Of each relay one number, by its place in STATES."""
    numbered = (f'outbox_state{{{OURS},state="{state}"}} * {at}' for at, state in enumerate(STATES, start=1))
    return f"sum by (service, instance) ({' or '.join(numbered)})"


def of_process(metric: str) -> str:
    """The client library's metrics have no service: the build of the same process does."""
    return f"{metric} * on (job, instance) group_left (service) outbox_build_info{{{OURS}}}"


EACH = "{{service}} {{instance}}"
