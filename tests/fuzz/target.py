"""The targets by name, and what a fuzzer has to know of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module

__all__ = ["INSTRUMENTED", "NAMES", "Target", "load"]

# What is watched for new paths, by target. Compiled code shows none: it is fed from what its Python twin led to.
INSTRUMENTED: dict[str, tuple[str, ...]] = {
    "pgoutput": ("cdc_relay.protocol",),
    "wire": ("cdc_relay.protocol",),
    "copy_data": ("cdc_relay.sources.copy_data", "tests.fuzz.targets.copy_data"),
    "intake": ("cdc_relay.protocol", "cdc_relay.delivery", "cdc_relay.routing"),
    "config": ("cdc_relay.config", "yaml"),
    "templates": ("cdc_relay.routing", "cdc_relay.config.route_fields", "cdc_relay.config.names"),
    "envelopes": ("cdc_relay.routing",),
    "messages": ("cdc_relay.routing",),
    "json_text": ("cdc_relay.routing.json_text", "cdc_relay.routing.json_depth", "cdc_relay.parking.desk_json"),
    "dlq_document": ("cdc_relay.parking", "yaml"),
    "dlq_lines": ("cdc_relay.parking", "cdc_relay.cli.dlq_transfer"),
}
NAMES = tuple(INSTRUMENTED)


@dataclass(frozen=True, slots=True)
class Target:
    name: str
    check: Callable[[bytes], None]
    seeds: Callable[[], Iterable[bytes]]
    tokens: tuple[bytes, ...]  # what chance alone would hardly write


def load(name: str) -> Target:
    module = import_module(f"tests.fuzz.targets.{name}")
    return Target(name, module.check, module.seeds, module.TOKENS)
