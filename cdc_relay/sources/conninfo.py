"""From the user's DSN to libpq parameters: everything a DSN can say stays, our own needs are added. Pure."""

from __future__ import annotations

import os

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from cdc_relay.errors import ConfigError

__all__ = ["catalog_conninfo", "replication_conninfo"]


def replication_conninfo(dsn: str, *, password: str | None, slot: str, silence_seconds: float) -> str:
    """`cdc-relay:<slot>` is the name by which pg_stat_replication and synchronous_standby_names know us."""
    ours = {"replication": "database", "application_name": f"cdc-relay:{slot}", "options": ""}
    return _merge(dsn, password=password, ours=ours, silence_seconds=silence_seconds)


def catalog_conninfo(dsn: str, *, password: str | None, slot: str, silence_seconds: float) -> str:
    ours = {"application_name": f"cdc-relay:{slot}:catalog", "options": "-c statement_timeout=10s"}
    return _merge(dsn, password=password, ours=ours, silence_seconds=silence_seconds)


def _merge(dsn: str, *, password: str | None, ours: dict[str, str], silence_seconds: float) -> str:
    theirs = _parse(dsn)
    params = _line_defaults(silence_seconds) | theirs
    if password is not None:
        params["password"] = password
    options = f"{theirs.get('options', '')} {ours['options']}".strip()
    # Line sends and reads UTF-8; in the startup packet it wins over what the role, the database or the DSN prefer
    return make_conninfo("", **(params | ours | {"options": options, "client_encoding": "UTF8"}))


def _parse(dsn: str) -> dict[str, str]:
    try:
        return {name: str(value) for name, value in conninfo_to_dict(dsn).items() if value is not None}
    except ProgrammingError:
        raise ConfigError(
            "source.dsn: libpq cannot read this connection string",
            remedy="write a URL (postgresql://user@host/db) or key=value pairs; percent-encode special characters",
        ) from None  # libpq's text may quote the DSN, and with it a password


def _line_defaults(silence_seconds: float) -> dict[str, str]:
    """A dead host is noticed even while we only listen; what the DSN says wins."""
    milliseconds = str(int(silence_seconds * 1000))
    defaults = {"keepalives": "1", "keepalives_idle": "5", "keepalives_interval": "2", "keepalives_count": "3"}
    defaults["tcp_user_timeout"] = milliseconds
    if "PGCONNECT_TIMEOUT" not in os.environ:
        defaults["connect_timeout"] = "10"
    return defaults
