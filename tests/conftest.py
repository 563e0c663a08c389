"""The ground all tests stand on: one plugin per concern, in tests/fixtures."""

from __future__ import annotations

pytest_plugins = [
    "tests.fixtures.process",
    "tests.fixtures.fix_net",
    "tests.fixtures.fix_postgres",
    "tests.fixtures.fix_kafka",
    "tests.fixtures.fix_proxy",
    "tests.fixtures.fix_relay",
]
