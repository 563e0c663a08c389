"""The queries that several panels share. A standby exposes neither lag nor lot: `largest` shows the one that reads."""

from __future__ import annotations

__all__ = [
    "BY_TOPIC",
    "EACH",
    "IN_OUTBOX",
    "OURS",
    "RATE",
    "STATES",
    "largest",
    "of_process",
    "quantile",
    "rate_by",
    "state_numbers",
]

STATES = ("streaming", "standby", "starting", "waiting", "holding", "released", "stopping")

OURS = 'service=~"$service"'
BY_TOPIC = f'{OURS},outbox=~"$outbox",topic=~"$topic"'
IN_OUTBOX = f'{OURS},outbox=~"$outbox"'
RATE = "[$__rate_interval]"


def rate_by(metric: str, labels: str = "service", matchers: str = OURS) -> str:
    return f"sum by ({labels}) (rate({metric}{{{matchers}}}{RATE}))"


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
