"""The metrics of a running relay, read as Prometheus reads them."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client.parser import text_string_to_metric_families

from tests.fixtures.process import wait_until
from tests.fixtures.relay_process import RelayProcess

__all__ = ["Samples", "read_metrics", "wait_for_metrics"]

Samples = dict[tuple[str, ...], float]  # by name and label values, the service's left out


def read_metrics(relay: RelayProcess) -> Samples:
    status, text = relay.get("/metrics")
    assert status == 200
    samples = (sample for family in text_string_to_metric_families(text) for sample in family.samples)
    return {(each.name, *_own_labels(each.labels)): each.value for each in samples}


def wait_for_metrics(
    relay: RelayProcess, wanted: Callable[[Samples], bool], *, what: str, timeout: float = 60
) -> Samples:
    seen: Samples = {}

    def is_there() -> bool:
        nonlocal seen
        seen = read_metrics(relay)
        return wanted(seen)

    wait_until(is_there, timeout=timeout, what=what)
    return seen


def _own_labels(labels: dict[str, str]) -> list[str]:
    return [value for name, value in labels.items() if name != "service"]
