"""The two twins of what is compiled. Neither is chosen by CDC_RELAY_NATIVE: a test says which one it means."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

import pytest

from cdc_relay.delivery import ledger, window

__all__ = ["NATIVE", "PYTHON", "Twins", "needs_native"]


@dataclass(frozen=True)
class Twins:
    """The window decides: an intake makes its ledger and its way of taking frames after it."""

    window: type[window.Window]
    ledger: type[ledger.Ledger]


def _find_native() -> Twins | None:
    if find_spec("cdc_relay.native.ledger") is None:
        return None
    from cdc_relay.native.ledger import Ledger, Window

    return Twins(Window, Ledger)


PYTHON = Twins(window.Window, ledger.Ledger)
NATIVE = _find_native()

needs_native = pytest.mark.skipif(NATIVE is None, reason="cdc_relay.native is not built")
