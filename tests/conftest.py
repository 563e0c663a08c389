"""The ground all tests stand on: one plugin per concern, in tests/fixtures."""

from __future__ import annotations

import signal

# A shell that starts the run in the background has SIGINT ignored, and every child would inherit that: no Ctrl-C then.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = [
    "tests.fixtures.process",
    "tests.fixtures.fix_net",
    "tests.fixtures.fix_postgres",
    "tests.fixtures.fix_kafka",
    "tests.fixtures.fix_proxy",
    "tests.fixtures.fix_relay",
]
