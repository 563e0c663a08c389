"""The ground all tests stand on: one plugin per concern, in tests/fixtures."""

from __future__ import annotations

import signal

from hypothesis import settings

# A shell that starts the run in the background has SIGINT ignored, and every child would inherit that: no Ctrl-C then.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests assert no times: on a busy machine an example may take a hundred times as long as usual.
if settings.get_current_profile_name() == "default":  # in CI, and under mutation, there is another one without times
    settings.register_profile("untimed", deadline=None)
    settings.load_profile("untimed")

pytest_plugins = [
    "tests.fixtures.process",
    "tests.fixtures.fix_net",
    "tests.fixtures.fix_history",
    "tests.fixtures.fix_postgres",
    "tests.fixtures.fix_kafka",
    "tests.fixtures.fix_proxy",
    "tests.fixtures.fix_relay",
]
