"""From the user's DSN to libpq parameters: everything a DSN can say stays, our own needs are added. Pure.

libpq fills from service files and the environment only what the conninfo does not have, so little is added here.
"""

from __future__ import annotations

import os

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from cdc_relay.errors import ConfigError

__all__ = ["application_name", "catalog_conninfo", "replication_conninfo"]

_NAME_BYTES = 63  # what Postgres keeps of an application_name


def application_name(slot: str) -> str:
    """By this pg_stat_replication and synchronous_standby_names know us."""
    return f"cdc-relay:{slot}"[:_NAME_BYTES]


def replication_conninfo(dsn: str, *, password: str | None, slot: str, silence_seconds: float) -> str:
    ours = {"replication": "database", "application_name": application_name(slot)}
    return _merge(dsn, password=password, ours=ours, silence_seconds=silence_seconds)


def catalog_conninfo(dsn: str, *, password: str | None, slot: str, silence_seconds: float, use: str = "catalog") -> str:
    """`use` tells our connections apart in pg_stat_activity."""
    name = f"{application_name(slot)[: _NAME_BYTES - 8]}:{use}"
    ours = {"replication": "false", "application_name": name}
    return _merge(dsn, password=password, ours=ours, silence_seconds=silence_seconds)


def _merge(dsn: str, *, password: str | None, ours: dict[str, str], silence_seconds: float) -> str:
    theirs = _parse(dsn)
    # Line sends and reads UTF-8; in the startup packet it wins over what the role, the database or the DSN prefer.
    params = _line_defaults(theirs, silence_seconds) | theirs | ours | {"client_encoding": "UTF8"}
    if password is not None:
        params["password"] = password
    return make_conninfo("", **params)


def _parse(dsn: str) -> dict[str, str]:
    try:
        return {name: str(value) for name, value in conninfo_to_dict(dsn).items() if value is not None}
    except ProgrammingError:
        raise ConfigError(
            "source.dsn: libpq cannot read this connection string",
            remedy="write a URL (postgresql://user@host/db) or key=value pairs; percent-encode special characters",
        ) from None  # libpq's text may quote the DSN, and with it a password


def _line_defaults(theirs: dict[str, str], silence_seconds: float) -> dict[str, str]:
    """A dead host is noticed even while we only listen. A service file says for itself what it wants."""
    if "service" in theirs or "PGSERVICE" in os.environ:
        return {}
    defaults = {"keepalives": "1", "keepalives_idle": "5", "keepalives_interval": "2", "keepalives_count": "3"}
    return defaults | {"tcp_user_timeout": str(int(silence_seconds * 1000))}
