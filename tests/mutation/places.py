"""What is mutated, and which unit tests concern it: examples, which tell at once. Data only.

Tests of properties and models would find more, but each survivor would cost ten seconds: they are left out.
"""

from __future__ import annotations

__all__ = ["AT_IMPORT", "LEAST_SHARE", "MODULES"]

LEAST_SHARE = 0.9  # of the mutants must be noticed

AT_IMPORT = {"cdc_relay.delivery.failures"}  # its functions make its table: they have run before a test is collected

_INTAKE = ("test_intake.py", "test_intake_counts.py", "test_intake_messages.py", "test_foresight.py")
_DECODER = ("test_protocol_pgoutput.py", "test_protocol_cursor.py")

MODULES: dict[str, tuple[str, ...]] = {
    "cdc_relay.delivery.backoff": ("test_backoff.py",),
    "cdc_relay.delivery.failures": ("test_failures.py",),
    "cdc_relay.delivery.foresight": ("test_foresight.py", "test_intake_messages.py"),
    "cdc_relay.delivery.gates": ("test_gates.py",),
    "cdc_relay.delivery.intake": _INTAKE,
    "cdc_relay.delivery.ledger": ("test_ledger.py",),
    "cdc_relay.delivery.outcome": _INTAKE,
    "cdc_relay.delivery.parked": ("test_parked.py",),
    "cdc_relay.delivery.twins": _INTAKE,
    "cdc_relay.delivery.window": ("test_window.py",),
    "cdc_relay.protocol.cursor": _DECODER,
    "cdc_relay.protocol.lsn": ("test_protocol_lsn.py",),
    "cdc_relay.protocol.messages": _DECODER,
    "cdc_relay.protocol.peek": ("test_foresight.py", "test_intake_messages.py"),
    "cdc_relay.protocol.pgoutput": _DECODER,
    "cdc_relay.protocol.rows": _DECODER,
    "cdc_relay.protocol.wire": ("test_protocol_wire.py",),
}
