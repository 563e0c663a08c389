"""Settings of sessions that hold something which others wait for."""

from __future__ import annotations

from collections.abc import Mapping

from cdc_relay.sources.line import Line

__all__ = ["NOTICE_A_DEAD_CLIENT", "apply"]

# By default Postgres keeps the session of a host that died for two hours, with its locks and its snapshot; so: 9 s.
NOTICE_A_DEAD_CLIENT = {"tcp_keepalives_idle": "3", "tcp_keepalives_interval": "2", "tcp_keepalives_count": "3"}


def apply(line: Line, settings: Mapping[str, str]) -> None:
    line.query("".join(f"SET {name} = '{value}';" for name, value in settings.items()))
