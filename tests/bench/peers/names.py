"""The names of the peers that other files speak of. Imports nothing, so that a report needs no server's library."""

from __future__ import annotations

__all__ = ["RAW_NAPPING", "RELAY", "TUNED_DEBEZIUM", "UNTUNED_DEBEZIUM"]

RELAY = "relay"
TUNED_DEBEZIUM = "debezium-tuned"
UNTUNED_DEBEZIUM = "debezium-default"
RAW_NAPPING = "raw-napping"
