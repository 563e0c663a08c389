"""Mutants that no test can notice, or need not, each with the reason. Data only: docs/mutation.md shows it."""

from __future__ import annotations

__all__ = ["SURVIVORS"]

# module -> name of the mutant -> why it may live
SURVIVORS: dict[str, dict[str, str]] = {}
